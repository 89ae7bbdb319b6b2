export * from "./bytes.js";
export * from "./client.js";
export * from "./codec.js";
export * from "./frames.js";
export * from "./log.js";
export * from "./rng.js";
export * from "./sha256.js";
export * from "./value.js";
