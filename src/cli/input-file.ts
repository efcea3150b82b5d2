import { readFile } from "node:fs/promises";
import { CommandError } from "./command.ts";

/**
 * Reads the file that a flag names, byte for byte.
 * @throws CommandError that names flag, file and the system's error code
 */
export async function readInput(flag: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${flag}: ${file} cannot be read (${code ?? "unknown error"})`, { cause: error });
  }
}

/** Reads a secret from the file that a flag names; one trailing line end is left out, as editors write one. */
export async function readSecret(flag: string, file: string): Promise<string> {
  return (await readInput(flag, file)).toString().replace(/\r?\n$/, "");
}
