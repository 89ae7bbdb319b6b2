import { execFileSync } from "node:child_process";

/** From $CHROMIUM or the PATH; undefined: that of Playwright, which says how to get it. */
export function chromiumPath(): string | undefined {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  try {
    return execFileSync("sh", ["-c", "command -v chromium || command -v google-chrome || command -v chromium-browser"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}
