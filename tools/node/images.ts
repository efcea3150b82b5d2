import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PinnedPackage, unpack, withPackageArchive } from "../helm/npm-archive.ts";
import { npmCommand } from "../setup/packages.mjs";
import { type NodePlace, runScript } from "./node.ts";

const ROOT = join(import.meta.dirname, "../..");

/** npm for the image that builds: as a package it runs on any Node, which a distribution's own may not. */
const NPM: PinnedPackage = {
  name: "npm",
  version: "11.6.2",
  integrity: "sha512-7iKzNfy8lWYs3zq4oFPa8EXZz5xt9gQNKJZau3B1ErLBb6bF7sBJ00x09485DOvRT2l5Gerbl3VlZNT57MxJVA==",
};

/** Archives of images, by what they are. */
export interface Images {
  readonly pause: string;
  readonly redis: string;
  readonly davit: string;
  readonly handler: string | undefined;
}

/** Names under which the node knows them. */
export const IMAGE = {
  davit: "localhost/davit:e2e",
  redis: "localhost/redis:1",
  handler: "localhost/handler:e2e",
} as const;

/** Makes the bases once; they depend on this machine's Node and Redis alone. @param redisServer path of the program */
export async function baseImages(place: NodePlace, redisServer: string): Promise<string> {
  const folder = join(place.cache, "images");
  const stamp = join(folder, "made-from");
  const from = [process.execPath, redisServer, join(import.meta.dirname, "image.sh")]
    .map((file) => `${file} ${statSync(file).size} ${statSync(file).mtimeMs}`)
    .join("\n");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === from) return folder;
  const npm = mkdtempSync(join(tmpdir(), "davit-npm-"));
  try {
    withPackageArchive(NPM, (archive) => unpack(archive, npm));
    await runScript(place, ["image.sh", folder, process.execPath, npm, redisServer]);
  } finally {
    rmSync(npm, { recursive: true });
  }
  writeFileSync(stamp, from);
  return folder;
}

/** Builds the Dockerfile, and the example of a handler image on top of it, without an image registry. */
export async function buildImages(place: NodePlace, bases: string): Promise<Images> {
  const npmHome = mkdtempSync(join(tmpdir(), "davit-npm-"));
  try {
    const davit = join(place.cache, "images", "davit.tar");
    const env = { NPM_HOME: npmHome, NPM_CACHE: npmSettings(npmHome) };
    const args = ["--build-arg", "BASE=localhost/base:1", "--build-arg", "BUILD_BASE=localhost/build:1"];
    const archives = `${join(bases, "base.tar")} ${join(bases, "build.tar")}`;
    await runScript(place, ["build-image.sh", IMAGE.davit, ROOT, davit, ...args], { ...env, BASES: archives });
    return {
      pause: join(bases, "pause.tar"),
      redis: join(bases, "redis.tar"),
      davit,
      handler: await handlerImage(place),
    };
  } finally {
    rmSync(npmHome, { recursive: true });
  }
}

async function handlerImage(place: NodePlace): Promise<string | undefined> {
  const context = join(ROOT, "examples/worker-image");
  if (!existsSync(join(context, "Dockerfile"))) return undefined;
  const archive = join(place.cache, "images", "handler.tar");
  await runScript(place, ["build-image.sh", IMAGE.handler, context, archive, "--build-arg", `DAVIT=${IMAGE.davit}`]);
  return archive;
}

/**
 * npm's settings on this machine, for npm in a build: its own user configuration and the certificates that it trusts.
 *
 * @param home folder that gets a file npmrc and what it names
 * @returns folder of npm's cache
 */
function npmSettings(home: string): string {
  const [npm, leading] = npmCommand();
  const get = (key: string) => {
    const value = spawnSync(npm, [...leading, "config", "get", key], { cwd: home, encoding: "utf8" }).stdout.trim();
    return value === "null" || value === "undefined" ? "" : value;
  };
  const [user, certificates, cache] = [get("userconfig"), get("cafile"), get("cache")];
  const lines = ["registry", "proxy", "https-proxy", "noproxy", "strict-ssl"]
    .map((key) => `${key}=${get(key)}`)
    .filter((line) => !line.endsWith("="));
  if (certificates !== "" && existsSync(certificates)) {
    copyFileSync(certificates, join(home, "ca.crt"));
    lines.push("cafile=/npm/ca.crt");
  }
  const own =
    user !== "" && existsSync(user)
      ? readFileSync(user, "utf8")
          .split("\n")
          .filter((line) => !line.startsWith("cafile"))
      : [];
  writeFileSync(join(home, "npmrc"), [...own, ...lines, ""].join("\n"), { mode: 0o600 });
  mkdirSync(cache, { recursive: true });
  return cache;
}
