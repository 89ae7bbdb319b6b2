// Byte strings: a JavaScript string with one character (0 to 255) a byte.
// They are compared, sorted and used as keys of a Map like any other string, and their order is that of the bytes.

export type Bytes = string;

const CHUNK = 8192;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function fromArray(array: Uint8Array): Bytes {
  let out = "";
  for (let at = 0; at < array.length; at += CHUNK) out += String.fromCharCode(...array.subarray(at, at + CHUNK));
  return out;
}

export function toArray(bytes: Bytes): Uint8Array {
  const out = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) out[i] = bytes.charCodeAt(i);
  return out;
}

export function fromText(text: string): Bytes {
  return fromArray(encoder.encode(text));
}

export function toText(bytes: Bytes): string {
  return decoder.decode(toArray(bytes));
}

/** The order of the bytes, for Array.sort. */
export function compareBytes(a: Bytes, b: Bytes): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
