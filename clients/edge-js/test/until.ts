/** The time that a test waits for something before it fails. No slow machine exhausts it. */
export const PATIENCE_MS = 120_000;

/** Polls until `condition` holds. Throws after the patience, with what was waited for and what there is instead. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, show = () => ""): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    // The last look begins after the patience has ended: a test that did not run meanwhile has looked.
    const last = Date.now() >= end;
    if (await condition()) return;
    if (last) throw new Error(`not within ${PATIENCE_MS} ms: ${what} ${show()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
