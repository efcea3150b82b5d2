import type { Vector } from "../../support/vectors.ts";
import { places, type Mutation, type Random } from "./mutation.ts";

/** Schemes whose "secret" is a public key or public knowledge in a form of its own: one wrong bit may leave the same key behind. */
const PUBLIC: ReadonlySet<string> = new Set(["plaid-jwt", "sendgrid-ecdsa"]);

/** Other keys than the right one, and the right one among others. */
export function keyMutations(vector: Vector, random: Random): readonly Mutation[] {
  const secrets = [vector.secret].flat();
  return [
    ...secrets.flatMap((secret, index) =>
      secretChanges(vector, secret, random).map(([what, changed]) => {
        const all = secrets.with(index, changed);
        return mutation(`${index}: ${what}`, typeof vector.secret === "string" ? changed : all);
      }),
    ),
    ...rings(vector, secrets),
  ];
}

function mutation(what: string, secret: Vector["secret"]): Mutation {
  return { what: `key ${what}`, changes: { secret } };
}

function secretChanges(vector: Vector, secret: string, random: Random): readonly (readonly [string, string])[] {
  const bits = places(secret.length, 3, random).map((at) => {
    const flipped = String.fromCharCode(secret.charCodeAt(at) ^ (1 << random(5)));
    return [`bit of character ${at}`, secret.slice(0, at) + flipped + secret.slice(at + 1)] as const;
  });
  const forms = [
    ["empty", ""],
    ["blank", " "],
    ["line end", "\n"],
    ["without its last character", secret.slice(0, -1)],
    ["twice", secret + secret],
    ["line end after", `${secret}\n`],
    ["CR LF after", `${secret}\r\n`],
    ["blank before", ` ${secret}`],
    ["in quotes", `"${secret}"`],
    ["in upper case", secret.toUpperCase()],
    ["in lower case", secret.toLowerCase()],
    ["in hex", Buffer.from(secret).toString("hex")],
    ["in base64", Buffer.from(secret).toString("base64")],
    ["read as hex", Buffer.from(secret, "hex").toString("latin1")],
    ["read as base64", Buffer.from(secret, "base64").toString("latin1")],
    ["without its first part", secret.replace(/^[a-z]+_/, "")],
    ["with whsec_ before", `whsec_${secret}`],
    ["with v1, before", `v1,${secret}`],
  ] as const;
  const all = PUBLIC.has(vector.scheme) ? forms : [...bits, ...forms];
  return all.filter(([, changed]) => changed !== secret);
}

function rings(vector: Vector, secrets: readonly string[]): readonly Mutation[] {
  if (PUBLIC.has(vector.scheme)) return [];
  const wrong = secrets.map((secret) => secret.toUpperCase().replaceAll(/[0-9]/g, "7"));
  return [
    mutation("ring in reverse", secrets.toReversed()),
    mutation("ring: wrong, then right", [...wrong, ...secrets]),
    mutation("ring: right, then wrong", [...secrets, ...wrong]),
    mutation("ring: only wrong", wrong),
    mutation("ring: empty, then right", ["", ...secrets]),
    mutation("ring: right, then empty", [...secrets, ""]),
    mutation("ring: empty ones", ["", ""]),
    mutation("ring: none", []),
  ];
}
