import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import type { Claim } from "../../../routes/claims.ts";
import { PUBLICATION_SCHEMA, type Publication, released } from "../../../routes/publication.ts";
import { heldUntil } from "./draft.ts";
import type { Operator } from "../operator.ts";
import { decidePlace } from "./places.ts";
import {
  claimIn,
  claimSecretName,
  type EntrySecret,
  entryIn,
  placeKey,
  releasedIn,
} from "../publishing/publications.ts";
import type { PublicationTarget } from "../publishing/route-publisher.ts";
import { isShelved } from "../custody/shelf-reconciler.ts";
import { claimantOf } from "./assessment.ts";
import { WEBHOOK_ROUTES } from "../route-types.ts";
import { refOf } from "../../../kube/objects.ts";

/** The cache does not know a route that exists: looked at again after this long, ms. */
const CACHE_LAG_MS = 1_000;

/**
 * A route that the cache does not have. When the API server says so too, its publication becomes a released claim, which goes once the place
 * is free for everybody.
 */
export async function releaseRoute(operator: Operator, key: string, signal: AbortSignal): Promise<ReconcileResult> {
  const { publications, publisher, client, clock, config } = operator;
  if (publications.ofRoute(key).length === 0) return {};
  const live = await client.resource(WEBHOOK_ROUTES).find(refOf(key), { signal });
  if (live !== undefined && (live.spec.instance ?? "default") === config.instance) {
    return { requeueAfterMs: CACHE_LAG_MS };
  }
  const served = publications.ofRoute(key).filter((secret) => entryIn(secret) !== undefined);
  for (const { name, namespaceUid } of served) {
    await publisher.publish({ name, route: key, namespaceUid }, (published, seq) => {
      const entry = entryIn(published);
      return entry === undefined ? undefined : released(entry, seq, clock.now());
    });
  }
  const endsAt = await tidyClaims(operator, key, clock.now());
  await boundClaims(operator, refOf(key).namespace ?? "");
  return endsAt === undefined ? {} : { requeueAfterMs: Math.max(1, endsAt - clock.now()) };
}

/**
 * A namespace made anew under its name is another one: what a route of the one before it still publishes is released.
 * @returns whether its events are not on their shelf yet; until then its claim must stay, as nothing else tells that it was deleted
 */
export async function releaseForerunner(operator: Operator, target: PublicationTarget): Promise<boolean> {
  const { publications, publisher, clock } = operator;
  const forerunner = (): EntrySecret | undefined => {
    const published = publications.get(target.name);
    return published?.namespaceUid === target.namespaceUid || !published?.namespaceUid ? undefined : published;
  };
  const { namespaceUid } = forerunner() ?? target;
  if (entryIn(forerunner()) !== undefined) {
    await publisher.publish({ ...target, namespaceUid }, (published, seq) => {
      const entry = published?.namespaceUid === namespaceUid ? entryIn(published) : undefined;
      return entry === undefined ? undefined : released(entry, seq, clock.now());
    });
  }
  const left = forerunner();
  return left !== undefined && releasedIn(left) !== undefined && !isShelved(operator, left);
}

/** Before a route's entry moves to another place: the claim on the place it leaves gets a Secret of its own. */
export async function leaveBehind(
  operator: Operator,
  target: PublicationTarget,
  next: { readonly host: string; readonly path: string },
): Promise<void> {
  const { publications, publisher, config, clock } = operator;
  const published = publications.get(target.name);
  const claim = published === undefined ? undefined : claimIn(published);
  if (published === undefined || claim === undefined || placeKey(claim) === placeKey(next)) return;
  const releasedAt = claim.releasedAt ?? clock.now();
  if (heldUntil(releasedAt, config.controller.claimHoldMs) <= clock.now()) return;
  const name = claimSecretName(config.instance, claim);
  await publisher.publish({ ...target, name }, (_, seq) => releasedClaim(claim, seq, releasedAt));
  await boundClaims(operator, claim.namespace);
}

function releasedAtOf(secret: EntrySecret): number {
  return releasedIn(secret)?.releasedAt ?? 0;
}

/** Most released places of one namespace that are held: whoever makes and deletes routes in a loop must not fill every gateway's memory for a day. */
const MAX_HELD = 256;

/** Deletes the oldest released claims of more than {@link MAX_HELD} of a namespace; those whose events are not on their shelf yet stay until they are. */
export async function boundClaims(operator: Operator, namespace: string): Promise<void> {
  const { publications, publisher, logger } = operator;
  const held = publications.inNamespace(namespace).filter((secret) => releasedIn(secret) !== undefined);
  if (held.length <= MAX_HELD) return;
  const surplus = held.toSorted((a, b) => releasedAtOf(a) - releasedAtOf(b)).slice(0, held.length - MAX_HELD);
  const isOver = (secret: EntrySecret) => releasedIn(secret) !== undefined && isShelved(operator, secret);
  const gone: string[] = [];
  // oxlint-disable-next-line no-await-in-loop -- the publisher writes one after the other
  for (const { name, route } of surplus) if (await publisher.remove(name, isOver)) gone.push(route);
  if (gone.length === 0) return;
  const [oldest] = gone;
  const words = `places of deleted routes are free before their time: a namespace holds at most ${MAX_HELD} of them`;
  logger.warn({ namespace, freed: gone.length, oldest }, words);
}

/** Most places that a route has left and that are held: each is a Secret that every gateway knows. */
const MAX_LEFT = 16;

/**
 * Deletes released claims of a route that are over, or whose place is served again, and the oldest of more than {@link MAX_LEFT}.
 * @returns Unix ms at which the next one is over
 */
export async function tidyClaims(operator: Operator, key: string, now: number): Promise<number | undefined> {
  const { publications, publisher, config } = operator;
  const left = publications.ofRoute(key).flatMap((secret) => releasedIn(secret)?.releasedAt ?? []);
  const [oldestHeld = 0] = left
    .toSorted((a, b) => b - a)
    .slice(0, MAX_LEFT)
    .slice(-1);
  const isOver = (secret: EntrySecret): boolean => {
    const claim = claimIn(secret);
    if (claim?.releasedAt === undefined || !isShelved(operator, secret)) return false;
    if (claim.releasedAt < oldestHeld) return true;
    const isServed = publications.at(placeKey(claim)).some((other) => entryIn(other) !== undefined);
    return isServed || heldUntil(claim.releasedAt, config.controller.claimHoldMs) <= now;
  };
  const ends: number[] = [];
  for (const secret of publications.ofRoute(key)) {
    const claim = claimIn(secret);
    if (claim?.releasedAt === undefined) continue;
    const end = heldUntil(claim.releasedAt, config.controller.claimHoldMs);
    if (isOver(secret)) await publisher.remove(secret.name, isOver);
    // One that is over and still waits for its shelf is queued by that.
    else if (end > now) ends.push(end);
  }
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/**
 * A route that does not get the place it wants goes on at the one it has, unless another route is served there by now: then its entry goes.
 */
export async function withdrawIfContested(operator: Operator, name: string): Promise<void> {
  const { publications, publisher } = operator;
  const isContested = (secret: EntrySecret): boolean => {
    const entry = entryIn(secret);
    if (entry === undefined) return false;
    const others = publications
      .at(placeKey(entry))
      .filter((other) => other.name !== name && entryIn(other) !== undefined);
    return others.length > 0 && !wins(operator, secret);
  };
  const published = publications.get(name);
  if (published !== undefined && isContested(published)) await publisher.remove(name, isContested);
}

/** Of two routes that are served at one place, one keeps it. */
function wins(operator: Operator, secret: EntrySecret): boolean {
  const { publications, routes, clock, config } = operator;
  const entry = entryIn(secret);
  if (entry === undefined) return false;
  const place = placeKey(entry);
  const claimants = routes.ofPlace(place).flatMap((key) => {
    const route = routes.get(key);
    return route === undefined ? [] : [claimantOf(route)];
  });
  const { winners } = decidePlace({
    claimants,
    published: publications.at(place),
    now: clock.now(),
    holdMs: config.controller.claimHoldMs,
  });
  return winners.some(({ namespace, name }) => namespace === entry.namespace && name === entry.name);
}

function releasedClaim({ namespace, name, host, path }: Claim, seq: number, releasedAt: number): Publication {
  return {
    schema: PUBLICATION_SCHEMA,
    minReader: 1,
    seq,
    released: { namespace, name, host, path, releasedAt },
  };
}
