// Size of the browser bundle: the package's main entry, minified, and compressed as servers do.
import { build } from "esbuild";
import { gzipSync } from "node:zlib";

export const BAR = 20 * 1024;

export async function size() {
  const { outputFiles } = await build({ entryPoints: ["src/index.ts"], bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false });
  const [{ contents }] = outputFiles;
  return { minified: contents.length, gzip: gzipSync(contents, { level: 9 }).length };
}

if (process.argv[1] === import.meta.filename) {
  const { minified, gzip } = await size();
  console.log(`${minified} bytes minified, ${gzip} bytes gzip (bar: ${BAR})`);
  process.exit(gzip > BAR ? 1 : 0);
}
