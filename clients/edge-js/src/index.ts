export { Db, type Events, type Options, type Shown, type Tabs, type View, open } from "./db.js";
export type { Commit, GatewayError, IdentityReason } from "./engine.js";
export { type Codec, type Counter, type Handle, type MapHandle, type Register, type SetHandle, bytes, counter, json, map, register, set, text } from "./handles.js";
export type { Phase, Refusal, Status } from "./core/client.js";
export { IndexedDbStore } from "./store/indexeddb.js";
export { MemoryStore } from "./store/memory.js";
export type { Store } from "./store/store.js";
export { Tx, Unavailable } from "./tx.js";
