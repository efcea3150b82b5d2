import { destinationId, destinationSecretName, ENABLE_ANNOTATION } from "../../api/names.ts";
import type { Live } from "../../kube/objects.ts";
import { refOf, slim } from "../../kube/objects.ts";
import type { ReconcileResult } from "../../runtime/reconcile.ts";
import { PublicationPace } from "../publishing/publication-pace.ts";
import { mergePatchOf } from "../webhook-route/children/merge-patch.ts";
import type { Refusal } from "../webhook-route/exposure/host-policy.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { ringOverlapMs } from "../webhook-route/publishing/signing-overlap.ts";
import { invalid } from "../webhook-route/route/assessment.ts";
import { notEnabled, tooNew } from "../webhook-route/route/refusals.ts";
import { secretNames } from "./destination-index.ts";
import { type DestinationObject, idOf, WEBHOOK_DESTINATIONS } from "./destination-types.ts";
import { idConflictOf } from "./id-claims.ts";
import {
  type DestinationInput,
  type DestinationPlan,
  heldEntry,
  planDestination,
  saysTheSame,
  validationOf,
} from "./plan.ts";
import type { DestinationSecret, DestinationTarget } from "./publications.ts";
import { destinationEvents, destinationStatus, type DestinationStatusInput, sameDestinationStatus } from "./status.ts";

/** Caches that are not complete yet are looked at again after this long, ms. */
const SYNC_POLL_MS = 200;
/** The cache does not know a destination that exists: looked at again after this long, ms. */
const CACHE_LAG_MS = 1_000;

/** Nothing tells that a namespace was enabled: looked at again after this long, ms. */
const NOT_ENABLED_MS = 60_000;

/** One WebhookDestination in one reconcile. */
interface Subject {
  readonly key: string;
  readonly destination: Live<DestinationObject>;
  readonly namespace: string;
  readonly target: DestinationTarget;
  readonly now: number;
  readonly signal: AbortSignal;
}

type Planned = Extract<DestinationPlan, { readonly ok: true }>;

/** What became of the attempt to publish. */
type Outcome =
  | { readonly plan: Planned }
  | {
      readonly refusal: Refusal /** It must not go on under the id that it was published with. */;
      readonly isLost?: true;
    }
  | { readonly tooSoonMs: number };

/** Makes one WebhookDestination so: publishes it, keeps its rings, gives workers what they need of it, and says in its status how it is. */
export class DestinationReconciler {
  readonly #operator: Operator;
  readonly #pace: PublicationPace;

  constructor(operator: Operator) {
    this.#operator = operator;
    this.#pace = new PublicationPace(operator.clock);
  }

  /** @param key `namespace/name` */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { destinations, config, clock } = this.#operator;
    const destination = destinations.index.get(key);
    const { namespace = "", name } = refOf(key);
    const target = { name: destinationSecretName(config.instance, namespace, name), key };
    if (destination === undefined) return this.#release(target, signal);
    const home = this.#operator.namespace(namespace);
    if (home === undefined) return { requeueAfterMs: SYNC_POLL_MS };
    // Everything in it goes; what it had published goes with the destination.
    if (home.metadata.deletionTimestamp !== undefined) return {};
    const subject = { key, destination, namespace, target, now: clock.now(), signal };
    const { spec, problems } = validationOf(destination);
    if (spec === undefined) return this.#refuse(subject, { refusal: invalid(problems) });
    return this.#accept(subject);
  }

  /** One that the cache does not have. When the API server says so too, its publication goes. */
  async #release(target: DestinationTarget, signal: AbortSignal): Promise<ReconcileResult> {
    const { destinations, client, config } = this.#operator;
    const { publications, publisher, index } = destinations;
    if (publications.get(target.name) === undefined) return {};
    const live = await client.resource(WEBHOOK_DESTINATIONS).find(refOf(target.key), { signal });
    if (live !== undefined && (live.spec.instance ?? "default") === config.instance) {
      return { requeueAfterMs: CACHE_LAG_MS };
    }
    await publisher.remove(target.name, () => index.get(target.key) === undefined);
    return {};
  }

  async #accept(subject: Subject): Promise<ReconcileResult> {
    const { secrets, children, ringWatch } = this.#operator;
    const { destination, namespace, signal } = subject;
    const reading = await secrets.read(namespace, secretNames(destination), signal);
    if (reading.state === "Syncing") return { requeueAfterMs: SYNC_POLL_MS };
    if (reading.secrets === undefined) {
      await this.#refuse(subject, { refusal: notEnabled(this.#operator.config, namespace) });
      return { requeueAfterMs: NOT_ENABLED_MS };
    }
    // Whoever lets us see the Secrets of a namespace has let us in.
    for (const cache of [children, ringWatch]) cache.want(namespace);
    if (destination.spec.signing !== undefined && ringWatch.state(namespace) === "Syncing") {
      return { requeueAfterMs: SYNC_POLL_MS };
    }
    const found = reading.secrets;
    const outcome = await this.#publish(subject, (now) => this.#inputOf(subject, found, now));
    // The status would speak of what is not published yet.
    if ("tooSoonMs" in outcome) return { requeueAfterMs: outcome.tooSoonMs };
    if ("refusal" in outcome) return this.#refuse(subject, outcome);
    return this.#finish(subject, outcome.plan);
  }

  #inputOf({ destination, namespace }: Subject, secrets: DestinationInput["secrets"], now: number): DestinationInput {
    return {
      destination,
      secrets,
      ringOf: (ref) => this.#operator.rings.get({ namespace, ...ref })?.keys ?? [],
      overlapOf: (ref) => ringOverlapMs(this.#operator, namespace, ref) ?? 0,
      releaseKey: this.#operator.releaseKey(),
      now,
    };
  }

  /** Rings first: a key that is signed with must be kept before anybody hears of it. */
  async #publish(subject: Subject, inputAt: (now: number) => DestinationInput): Promise<Outcome> {
    const { destinations, clock } = this.#operator;
    const { publications, publisher } = destinations;
    const look = (published: DestinationSecret | undefined): Outcome => {
      if (published?.problem?.code === "TooNew") return { refusal: tooNew("destination") };
      const conflict = this.#conflict(subject);
      if (conflict !== undefined) return { refusal: { reason: "IdConflict", message: conflict }, isLost: true };
      const plan = planDestination(inputAt(clock.now()));
      return plan.ok ? { plan } : { refusal: invalid(plan.problems) };
    };
    const published = publications.get(subject.target.name);
    let outcome = look(published);
    if (!("plan" in outcome)) return outcome;
    const isDue = differs(published, outcome.plan);
    const tooSoonMs = isDue ? this.#pace.take(subject.key) : 0;
    if (tooSoonMs > 0) return { tooSoonMs };
    await this.#keepRing(subject, outcome.plan);
    if (!isDue) return outcome;
    await publisher.publish(subject.target, (newest, seq) => {
      outcome = look(newest);
      return "plan" in outcome && differs(newest, outcome.plan) ? { ...outcome.plan.publication, seq } : undefined;
    });
    return outcome;
  }

  async #keepRing({ namespace }: Subject, { ring }: Planned): Promise<void> {
    if (ring === undefined) return;
    const { ref, keys } = ring;
    const at = { namespace, name: ref.name, key: ref.key };
    if (keys.length === 0 && this.#operator.rings.get(at) === undefined) return;
    await this.#operator.rings.keep(at, keys);
  }

  #conflict({ destination }: Subject): string | undefined {
    const { destinations, config } = this.#operator;
    return idConflictOf(destinations, config.instance, destination);
  }

  /** One that is not accepted. What it had published keeps its id, and its copies wait; when the id is another's, nothing of it is published any more. */
  async #refuse(
    subject: Subject,
    { refusal, isLost }: { readonly refusal: Refusal; readonly isLost?: true },
  ): Promise<ReconcileResult> {
    const { destinations, enqueue } = this.#operator;
    const { publications, publisher, compiled } = destinations;
    const { target, key, namespace } = subject;
    const published = publications.get(target.name);
    if (isLost) await publisher.remove(target.name, () => this.#conflict(subject) !== undefined);
    else if (published?.publication !== undefined && compiled.put(key, heldEntry(published.publication))) {
      enqueue.workers(namespace);
    } else if (published !== undefined && published.publication === undefined)
      compiled.put(key, heldUnread(subject, published));
    return this.#writeStatus(subject, { refusal });
  }

  async #finish(subject: Subject, plan: Planned): Promise<ReconcileResult> {
    const { destinations, enqueue } = this.#operator;
    const { key, namespace, target, now } = subject;
    const { publication } = destinations.publications.get(target.name) ?? {};
    // Somebody deleted it meanwhile, and that is queued.
    if (publication === undefined) return { requeueAfterMs: CACHE_LAG_MS };
    if (destinations.compiled.put(key, { ...plan.entry, seq: publication.seq })) enqueue.workers(namespace);
    const enabledAt = await this.#enable(subject, publication.destination);
    const result = await this.#writeStatus(subject, {
      unresolved: plan.unresolved,
      id: publication.id,
      ...(enabledAt !== undefined && { enabledAt }),
    });
    const { nextChangeAt } = plan;
    return nextChangeAt === undefined ? result : { requeueAfterMs: Math.max(1, nextChangeAt - now) };
  }

  /** @returns the command that was carried out now */
  async #enable({ destination, namespace }: Subject, id: string): Promise<string | undefined> {
    const { gates } = this.#operator.destinations;
    const { metadata, status } = destination;
    const at = metadata.annotations?.[ENABLE_ANNOTATION];
    const isDue = at !== undefined && at !== status?.lastHandled?.enableAt && !Number.isNaN(Date.parse(at));
    if (!isDue || gates === undefined) return undefined;
    await gates.enable(namespace, id);
    this.#operator.events.record(destination, {
      type: "Normal",
      reason: "Enabled",
      action: "Enable",
      note: "the destination was enabled, as the annotation asked",
    });
    return at;
  }

  /** Over the version that the reconcile looked at: what somebody else wrote meanwhile makes it a conflict, and another look. */
  async #writeStatus(
    { destination, key, namespace, now }: Subject,
    found: Pick<DestinationStatusInput, "refusal" | "unresolved" | "id" | "enabledAt">,
  ): Promise<ReconcileResult> {
    const { client, events, destinations } = this.#operator;
    const { metadata, status, spec } = destination;
    const next = destinationStatus({
      ...found,
      generation: metadata.generation ?? 0,
      before: status,
      now,
      namespace,
      name: metadata.name,
      suspended: spec.suspend === true,
      gate: destinations.gates?.of(key),
    });
    if (sameDestinationStatus(status, next)) return {};
    const { uid, resourceVersion } = metadata;
    const patch = { status: mergePatchOf(status ?? {}, next) ?? {} };
    const resource = client.resource(WEBHOOK_DESTINATIONS);
    const written = await resource.mergePatch(metadata, patch, { uid, resourceVersion }, { subresource: "status" });
    destinations.index.putWritten(key, slim(written));
    for (const { type, reason, message } of destinationEvents(status, next)) {
      events.record(destination, { type, reason, action: "Reconcile", note: message });
    }
    return {};
  }
}

/** What is published says something else, or is not found by its labels. */
function differs(published: DestinationSecret | undefined, { publication }: Planned): boolean {
  if (published?.publication === undefined || published.isUnmarked === true) return true;
  return !saysTheSame(published.publication, publication);
}

/** As {@link heldEntry}, where what is published cannot be read. */
function heldUnread({ destination }: Subject, { problem }: DestinationSecret) {
  const id = destinationId(idOf(destination)) ?? "";
  const { name } = destination.metadata;
  return heldEntry({ destination: id, name, seq: problem?.seq ?? 0 });
}
