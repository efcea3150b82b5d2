import { readFileSync } from "node:fs";
import { ConfigError } from "./problem.ts";

/**
 * Reads a secret from the file that a `…File` key of the config names; white space around it does not count.
 *
 * @param key the key, for the message
 * @throws ConfigError when the file cannot be read or is empty; never with what is in it
 */
export function readSecretFile(key: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new ConfigError(`${key}: cannot read ${file} (${code}): mount the Secret there`);
  }
  if (text === "") throw new ConfigError(`${key}: ${file} is empty: put the value into the Secret`);
  return text;
}

/**
 * The Redis URL, read from its file now and each time it is asked for: a Secret that was changed takes effect without a restart. What cannot be read any
 * more is as it was.
 * @throws ConfigError when it cannot be read now
 */
export function redisUrlOf(file: string): () => string {
  let known = readRedisUrl(file);
  return () => {
    try {
      known = readRedisUrl(file);
    } catch {
      // The file may be about to be replaced; whether Redis answers shows anyway.
    }
    return known;
  };
}

/**
 * The Redis URL from its file.
 * @throws ConfigError, also when it is no `redis://` or `rediss://` URL; never with the URL
 */
export function readRedisUrl(file: string): string {
  const url = readSecretFile("redis.urlFile", file);
  if (URL.canParse(url) && /^rediss?:\/\//.test(url)) return url;
  throw new ConfigError(`redis.urlFile: ${file} holds no redis:// or rediss:// URL`);
}
