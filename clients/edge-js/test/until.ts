export async function until(condition: () => boolean, what: string, ms = 10_000, show = () => ""): Promise<void> {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what} ${show()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
