export { Db, type Events, type Options, type Tabs, open } from "./db.js";
export type { Commit, GatewayError, IdentityReason } from "./engine.js";
export { type Codec, type Counter, type Handle, type ListHandle, type MapHandle, type Register, type SetHandle, bytes, counter, json, list, map, register, set, text } from "./handles.js";
export type { Inspection, Phase, Refusal, Stage, Status } from "./core/client.js";
export { IndexedDbStore } from "./store/indexeddb.js";
export { MemoryStore } from "./store/memory.js";
export type { Store } from "./store/store.js";
export { Tx, Unavailable } from "./tx.js";
export type { Shown, View } from "./view.js";
