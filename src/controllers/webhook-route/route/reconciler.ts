import { entrySecretName } from "../../../api/names.ts";
import type { Live } from "../../../kube/objects.ts";
import type { ReconcileResult } from "../../../runtime/reconcile.ts";
import { type ClaimDecision, conflictText } from "../../../routes/claims.ts";
import { closed } from "../../../routes/compile.ts";
import { published as publicationOf } from "../../../routes/publication.ts";
import { revokeCommand } from "../../../routes/revocation.ts";
import { signingKeysOf } from "../../../routes/signing-keys.ts";
import { type Assessment, assess, claimantOf, invalid, manifestOf } from "./assessment.ts";
import { knownDestinations } from "../../webhook-destination/destination-side.ts";
import { baseOf, draftEntry, type Drafted, type DraftInput, usesDestinations } from "./draft.ts";
import { destinationsFinding } from "./destinations-finding.ts";
import { notEnabled, tooNew } from "./refusals.ts";
import type { Refusal } from "../exposure/host-policy.ts";
import { leaveBehind, releaseForerunner, releaseRoute, tidyClaims, withdrawIfContested } from "./leaving.ts";
import type { Operator } from "../operator.ts";
import { decidePlace } from "./places.ts";
import { type EntrySecret, entryIn, placeKey } from "../publishing/publications.ts";
import { PublicationPace } from "../../publishing/publication-pace.ts";
import type { PublicationTarget } from "../publishing/route-publisher.ts";
import { type RouteObject, secretNames, signingRef } from "../watching/route-index.ts";
import { signingOverlapMs } from "../publishing/signing-overlap.ts";
import { type RouteFindings, writeStatus } from "../status/status-writer.ts";
import { unresolvedVariables } from "../workers/worker-state.ts";

/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;
/** A route whose forerunner's events go on their shelf is looked at again after this long, unless that is told before, ms. */
const FORERUNNER_MS = 5_000;
/** A route that no gateway has reached is looked at again after this long: silence is noticed by time alone. */
const UNREACHED_POLL_MS = 10_000;

type Accepted = Extract<Assessment, { readonly ok: true }>;

/** One route in one reconcile. */
interface Subject {
  readonly key: string;
  readonly route: Live<RouteObject>;
  readonly namespace: string;
  readonly namespaceUid: string;
  readonly target: PublicationTarget;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** What became of the attempt to publish. */
interface Outcome {
  readonly refusal?: Refusal;
  /** Unix ms from which another try makes sense. */
  readonly retryAt?: number | undefined;
  /** Published too often of late: not yet again for so long, ms. */
  readonly tooSoonMs?: number;
  readonly drafted?: Extract<Drafted, { readonly ok: true }>;
}

/** Makes one WebhookRoute so: publishes what it compiles to, keeps its key rings and its claim, and says in its status how far it is. */
export class RouteReconciler {
  readonly #operator: Operator;
  readonly #pace: PublicationPace;

  constructor(operator: Operator) {
    this.#operator = operator;
    this.#pace = new PublicationPace(operator.clock);
  }

  /** @param key `namespace/name` */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { routes, config, clock } = this.#operator;
    const route = routes.get(key);
    if (route === undefined) return releaseRoute(this.#operator, key, signal);
    const { namespace = "", name } = route.metadata;
    const home = this.#operator.namespace(namespace);
    if (home === undefined) return { requeueAfterMs: SYNC_POLL_MS };
    // Everything in it goes; what it had published goes with the route.
    if (home.metadata.deletionTimestamp !== undefined) return {};
    const target = {
      name: entrySecretName(config.instance, namespace, name),
      route: key,
      namespaceUid: home.metadata.uid,
    };
    if (await releaseForerunner(this.#operator, target)) return { requeueAfterMs: FORERUNNER_MS };
    const subject = { key, route, namespace, namespaceUid: home.metadata.uid, target, now: clock.now(), signal };
    const assessment = assess(route, home.metadata.labels ?? {}, config);
    if (!assessment.ok) return this.#refuse(subject, assessment);
    return this.#accept(subject, assessment);
  }

  async #accept(subject: Subject, assessment: Accepted): Promise<ReconcileResult> {
    const { secrets, publications } = this.#operator;
    const { route, namespace, signal } = subject;
    const reading = await secrets.read(namespace, secretNames(route), signal);
    if (reading.state === "Syncing") return { requeueAfterMs: SYNC_POLL_MS };
    if (reading.secrets === undefined) {
      return this.#finish(subject, { assessment, outcome: { refusal: notEnabled(this.#operator.config, namespace) } });
    }
    // Whoever lets us see the Secrets of a namespace has let us in.
    for (const cache of [this.#operator.children, this.#operator.ringWatch]) cache.want(namespace);
    if (signingRef(route) !== undefined && this.#operator.ringWatch.state(namespace) === "Syncing") {
      return { requeueAfterMs: SYNC_POLL_MS };
    }
    const found = reading.secrets;
    const revokeAt = commandOf(route);
    const outcome = await this.#publish(subject, assessment, (now) => ({
      route: manifestOf(route),
      namespace,
      namespaceUid: subject.namespaceUid,
      secrets: found,
      ...(usesDestinations(route.spec) && { destinations: knownDestinations(this.#operator.destinations, namespace) }),
      signingKeys: this.#ringOf(subject)?.keys ?? [],
      signingOverlapMs: signingOverlapMs(this.#operator, route),
      revokeAt,
      releaseKey: this.#operator.releaseKey(),
      now,
    }));
    // The status would speak of what is not published yet.
    if (outcome.tooSoonMs !== undefined) return { requeueAfterMs: outcome.tooSoonMs };
    if (outcome.refusal !== undefined) await withdrawIfContested(this.#operator, subject.target.name);
    const isHandled = outcome.drafted !== undefined && entryIn(publications.get(subject.target.name)) !== undefined;
    return this.#finish(subject, { assessment, outcome, ...(isHandled ? { revokedAt: revokeAt } : {}) });
  }

  /** Rings first: a key that is signed with must be kept before anybody hears of it. */
  async #publish(subject: Subject, assessment: Accepted, inputAt: (now: number) => DraftInput): Promise<Outcome> {
    const { publications, publisher, clock } = this.#operator;
    const { name } = subject.target;
    const look = (published: EntrySecret | undefined): Outcome => {
      if (published?.problem?.code === "TooNew") return { refusal: tooNew("route") };
      const conflict = this.#conflict(subject, assessment);
      if (conflict !== undefined) return conflict;
      const drafted = draftEntry(inputAt(clock.now()), published);
      return drafted.ok ? { drafted } : { refusal: invalid(drafted.problems) };
    };
    let outcome = look(publications.get(name));
    if (outcome.drafted === undefined) return outcome;
    const tooSoonMs = outcome.drafted.differs ? this.#waitFor(subject) : 0;
    if (tooSoonMs > 0) return { tooSoonMs };
    await this.#keepRing(subject, outcome.drafted);
    if (!outcome.drafted.differs) return outcome;
    await leaveBehind(this.#operator, subject.target, assessment.spec.exposure);
    await publisher.publish(subject.target, (published, seq) => {
      outcome = look(published);
      if (outcome.drafted === undefined || !outcome.drafted.differs) return undefined;
      const entry = { ...outcome.drafted.entry, seq };
      outcome = { drafted: { ...outcome.drafted, entry } };
      return publicationOf(entry);
    });
    return outcome;
  }

  /** @returns ms until the route may be published. The end of a key that leaked is never waited for */
  #waitFor({ key, route }: Subject): number {
    return commandOf(route) === undefined ? this.#pace.take(key) : 0;
  }

  /** Whether somebody else has the place. */
  #conflict({ route, now }: Subject, { spec }: Accepted): Outcome | undefined {
    const { host, path } = spec.exposure;
    const { conflicts } = this.#decide(placeKey({ host, path }), now);
    const { namespace, name } = route.metadata;
    const mine = conflicts.find(({ claimant }) => claimant.namespace === namespace && claimant.name === name);
    if (mine === undefined) return undefined;
    return { refusal: { reason: "HostPathConflict", message: conflictText(mine) }, retryAt: mine.heldUntil };
  }

  #decide(place: string, now: number): ClaimDecision {
    const { routes, publications, config } = this.#operator;
    const claimants = routes.ofPlace(place).flatMap((key) => {
      const route = routes.get(key);
      const home = this.#operator.namespace(route?.metadata.namespace ?? "");
      if (route === undefined || home === undefined || home.metadata.deletionTimestamp !== undefined) return [];
      return assess(route, home.metadata.labels ?? {}, config).ok ? [claimantOf(route)] : [];
    });
    return decidePlace({ claimants, published: publications.at(place), now, holdMs: config.controller.claimHoldMs });
  }

  #ringOf({ route, namespace }: Subject) {
    const ref = signingRef(route);
    return ref === undefined ? undefined : this.#operator.rings.get({ namespace, ...ref });
  }

  async #keepRing({ route, namespace }: Subject, { entry }: Extract<Drafted, { readonly ok: true }>): Promise<void> {
    const ref = signingRef(route);
    const keys = signingKeysOf(entry);
    if (ref === undefined || keys === undefined) return;
    if (keys.length === 0 && this.#operator.rings.get({ namespace, ...ref }) === undefined) return;
    await this.#operator.rings.keep({ namespace, ...ref }, keys);
  }

  /**
   * A route that is not accepted. What it had published keeps its place, its keys and its workers; when its host was taken from it, nothing
   * comes in any more.
   */
  async #refuse(subject: Subject, assessment: Extract<Assessment, { readonly ok: false }>): Promise<ReconcileResult> {
    const { publications, publisher } = this.#operator;
    const { name } = subject.target;
    await withdrawIfContested(this.#operator, name);
    if (assessment.spec !== undefined && baseOf(publications.get(name), subject.namespaceUid) !== undefined) {
      await publisher.publish(subject.target, (published, seq) => {
        const entry = baseOf(published, subject.namespaceUid);
        if (entry === undefined || closed(entry).suspend === entry.suspend) return undefined;
        return publicationOf({ ...closed(entry), seq });
      });
    }
    return this.#finish(subject, { assessment, outcome: { refusal: assessment.refusal } });
  }

  #compiledFindings(
    { route, namespace }: Subject,
    compiled: Extract<Drafted, { readonly ok: true }>["compiled"],
  ): Pick<RouteFindings, "unresolved" | "rotation" | "destinations"> {
    const { unresolved, rotation, destinations } = compiled;
    const found = destinationsFinding(route.spec, destinations, (name) =>
      this.#operator.cleanupPolicies.has(`${namespace}/${name}`),
    );
    return {
      unresolved: [...unresolved, ...unresolvedVariables(this.#operator, route)],
      rotation,
      ...(found && { destinations: found }),
    };
  }

  async #finish(
    subject: Subject,
    parts: { readonly assessment: Assessment; readonly outcome: Outcome; readonly revokedAt?: string | undefined },
  ): Promise<ReconcileResult> {
    const { assessment, outcome, revokedAt } = parts;
    const claimsEndAt = await tidyClaims(this.#operator, subject.key, subject.now);
    const compiled = outcome.drafted?.compiled;
    const findings: RouteFindings = {
      ...(outcome.refusal === undefined ? { isAccepted: true } : { refusal: outcome.refusal }),
      ...(compiled === undefined ? {} : this.#compiledFindings(subject, compiled)),
      ...(assessment.ok
        ? { warnings: assessment.warnings, host: assessment.host, tlsMissing: assessment.tlsMissing }
        : {}),
      ...(assessment.spec === undefined ? {} : { url: assessment.spec.verification.publicUrl }),
      ...(revokedAt === undefined ? {} : { revokedAt }),
    };
    const { isProgrammed, heldBackMs } = await writeStatus(this.#operator, subject.route, findings);
    const pollMs = isProgrammed || outcome.refusal !== undefined ? undefined : UNREACHED_POLL_MS;
    return soonest(subject.now, [
      outcome.retryAt,
      claimsEndAt,
      compiled?.rotation.nextChangeAt,
      ...[heldBackMs, pollMs].flatMap((ms) => (ms === undefined ? [] : subject.now + ms)),
    ]);
  }
}

/** The command to end previous keys that the status does not say to be carried out yet. */
function commandOf({ metadata, status }: Live<RouteObject>): string | undefined {
  return revokeCommand(metadata.annotations, status?.lastHandled?.revokePreviousAt);
}

function soonest(now: number, times: readonly (number | undefined)[]): ReconcileResult {
  const known = times.flatMap((time) => time ?? []);
  return known.length === 0 ? {} : { requeueAfterMs: Math.max(1, Math.min(...known) - now) };
}
