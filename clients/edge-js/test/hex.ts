import type { Bytes } from "../src/core/bytes.js";

export function unhex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

export function hexOf(bytes: Bytes | Uint8Array): string {
  return Buffer.from(bytes as string, "latin1").toString("hex");
}
