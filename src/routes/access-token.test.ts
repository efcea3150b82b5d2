import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readAccessToken } from "./access-token.ts";
import { secretsOf } from "./testing.ts";

const USABLE = { "davit.dev/use": "true" };
const GOOD = "0123456789abcdef012345";
const read = (token: string) => readAccessToken({ name: "a", key: "k" }, secretsOf({ a: { k: token } }, USABLE), "p");

describe("a token of a holder", () => {
  it("is known by its SHA-256", () => {
    expect(read(`${GOOD}\n`)).toEqual({ hash: hash("sha256", GOOD) });
    expect(read(`${GOOD}._~+/-==`)).toEqual({ hash: hash("sha256", `${GOOD}._~+/-==`) });
  });

  it.each([
    ["can be guessed", GOOD.slice(1)],
    ["has a blank in it", `${GOOD} ${GOOD}`],
    ["begins with a blank", ` ${GOOD}`],
    ["has two lines", `${GOOD}\n${GOOD}`],
    ["is not in ASCII", `${GOOD}ü`],
    ["has = elsewhere than at its end", `${GOOD}=${GOOD}`],
  ])("that %s opens nothing, and is not quoted", (_, token) => {
    const refused = read(token);
    expect(refused).toMatchObject({ path: "p", reason: "TokenUnusable" });
    expect(JSON.stringify(refused)).not.toContain(GOOD.slice(1));
  });

  it("that is empty or missing opens nothing", () => {
    expect(read(" \n".trim())).toMatchObject({ reason: "SecretEmpty" });
    expect(readAccessToken({ name: "b", key: "k" }, new Map(), "p")).toMatchObject({ reason: "SecretNotFound" });
  });
});
