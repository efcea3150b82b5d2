import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Where processes of tests keep what Node has compiled (`NODE_COMPILE_CACHE`): a program from the source tree then starts with half the
 * work. Node checks each entry against its source, so runs and users of one machine do not disturb each other.
 */
export const COMPILE_CACHE = join(tmpdir(), `davit-compile-cache-${process.getuid?.() ?? 0}`);
