/** Limits are for what hangs: a machine that does something else, too, takes many times as long as an idle one. */
const PATIENCE = 6;

export async function until(condition: () => boolean, what: string, ms = 10_000, show = () => ""): Promise<void> {
  ms *= PATIENCE;
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what} ${show()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
