import { CustodyError, type CustodyErrorCode } from "../port.ts";

/** First word of a Redis error reply, which is its code (RESP: `-CODE text`). */
const BY_REPLY: Readonly<Record<string, CustodyErrorCode>> = {
  OOM: "OutOfMemory",
  READONLY: "ReadOnly",
  MISCONF: "ReadOnly",
  NOREPLICAS: "NoReplicas",
  NOGOODSLAVE: "NoReplicas",
  LOADING: "Loading",
  MASTERDOWN: "Loading",
  BUSY: "Timeout",
  CLUSTERDOWN: "Unreachable",
  TRYAGAIN: "Unreachable",
  NOPERM: "Denied",
  NOAUTH: "Denied",
  WRONGPASS: "Denied",
};

const WORDS: Readonly<Record<CustodyErrorCode, string>> = {
  Unreachable: "Redis cannot be reached",
  Timeout: "Redis did not answer in time; whether it stored the write is not known",
  ReadOnly: "Redis refuses writes (a replica, or its disk failed)",
  NoReplicas: "not enough replicas confirmed the write",
  OutOfMemory: "Redis is at its maxmemory",
  Loading: "Redis is loading its data",
  Denied: "Redis does not let this user do it; its ACL rules lack a command, a key pattern or a channel",
  NotDurable: "Redis is not set to keep what it acknowledges",
  Script: "a custody script failed",
};

/** Turns whatever ioredis rejected with into a {@link CustodyError}; the original is its cause. */
export function asCustodyError(error: unknown): CustodyError {
  if (error instanceof CustodyError) return error;
  const code = classify(error);
  return new CustodyError(code, WORDS[code], { cause: error });
}

function classify(error: unknown): CustodyErrorCode {
  if (!(error instanceof Error)) return "Script";
  if (error.name === "ReplyError") {
    const [word = ""] = error.message.split(" ", 1);
    // NOPERM inside a script comes without its code.
    if (error.message.startsWith("ERR The user executing the script can't")) return "Denied";
    return BY_REPLY[word] ?? "Script";
  }
  // ioredis has no class for it: `commandTimeout` rejects with a plain Error of this exact text.
  if (error.message === "Command timed out") return "Timeout";
  return "Unreachable";
}

/**
 * Asks the store something.
 * @throws CustodyError
 */
export async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw asCustodyError(error);
  }
}
