import { inject } from "vitest";
import type { ObjectStoreLocation } from "./location.ts";

/** The object store that the files of this run share. Only for files under test/object-store. */
export const sharedObjectStore = (): ObjectStoreLocation => inject("objectStore");
