// Bundles the board and serves it. PORT: 8080 unless set. EDGE: the regions' endpoints, with commas between; those of `tidemark up --edge` unless set.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { build } from "esbuild";

const EDGE = "ws://127.0.0.1:9001/edge,ws://127.0.0.1:9002/edge,ws://127.0.0.1:9003/edge";

export async function serve(port, endpoints) {
  const { outputFiles } = await build({ absWorkingDir: import.meta.dirname, entryPoints: ["src/main.ts"], bundle: true, format: "esm", target: "es2022", write: false });
  const page = await readFile(new URL("src/index.html", import.meta.url), "utf8");
  const files = {
    "/": ["text/html; charset=utf-8", page.replace("ENDPOINTS", endpoints.join(" "))],
    "/main.js": ["text/javascript", outputFiles[0].text],
    "/style.css": ["text/css", await readFile(new URL("src/style.css", import.meta.url), "utf8")],
  };
  const server = createServer((request, response) => {
    const file = files[new URL(request.url, "http://board").pathname];
    response.writeHead(file ? 200 : 404, { "content-type": file?.[0] ?? "text/plain" });
    response.end(file?.[1] ?? "not found");
  });
  await new Promise((resolve, reject) => server.on("error", reject).listen(port, "127.0.0.1", resolve));
  return server;
}

if (process.argv[1] === import.meta.filename) {
  const server = await serve(Number(process.env.PORT ?? 8080), (process.env.EDGE ?? EDGE).split(","));
  const { port } = server.address();
  console.log(`Two windows, two regions:\n  http://127.0.0.1:${port}/?region=0\n  http://127.0.0.1:${port}/?region=1`);
}
