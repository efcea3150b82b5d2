import type { CleanupCounters, CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { PlannedScope, ScopeNotPlanned } from "../../cleanup/run/plan-scope.ts";
import type { VersionEntry } from "../../cleanup/store/port.ts";
import { type Io, printJson, UsageError } from "../command.ts";
import { table } from "../table.ts";

export type PlanFormat = "table" | "json" | "ndjson";

/** @throws UsageError */
export function planFormat(text = "table"): PlanFormat {
  if (text === "table" || text === "json" || text === "ndjson") return text;
  throw new UsageError(`-o: "${text}" is not known; use table, json or ndjson`);
}

export interface PlanSubject {
  /** `namespace/name` */
  readonly policy: string;
  readonly scope: string;
  /** Unix ms. */
  readonly cutoff: number;
  readonly snapshot: CleanupSnapshot;
}

/** Versions that the table shows; `-o ndjson` has all. */
const SHOWN = 20;
/** Between two words about progress where there is no terminal, ms. */
const TELL_MS = 10_000;

/** Says how a plan comes along, and what it is. */
export class PlanOutput {
  readonly #io: Io;
  readonly #format: PlanFormat;
  readonly #subject: PlanSubject;
  readonly #first: VersionEntry[] = [];
  #toldAt = Date.now();

  constructor(io: Io, format: PlanFormat, subject: PlanSubject) {
    this.#io = io;
    this.#format = format;
    this.#subject = subject;
  }

  planned(entries: readonly VersionEntry[]): void {
    if (this.#format === "ndjson")
      for (const entry of entries) this.#io.stdout.write(`${JSON.stringify(shown(entry))}\n`);
    const room = SHOWN - this.#first.length;
    if (room > 0) this.#first.push(...entries.slice(0, room));
  }

  progress({ listed = 0, planned = 0 }: CleanupCounters): void {
    const { stderr } = this.#io;
    const text = `planning: ${listed} versions listed, ${planned} planned`;
    if (stderr.isTTY === true) stderr.write(`\r${text}\u001b[K`);
    else if (Date.now() - this.#toldAt >= TELL_MS) {
      this.#toldAt = Date.now();
      stderr.write(`${text}\n`);
    }
  }

  /** @returns the exit code */
  end(result: PlannedScope | ScopeNotPlanned): number {
    if (this.#io.stderr.isTTY === true) this.#io.stderr.write("\r\u001b[K");
    if (result.type === "failed") {
      const again = result.retryable ? " (trying again may help)" : "";
      this.#io.stderr.write(`${result.reason}: ${result.message}${again}\n`);
      return 1;
    }
    const { policy, scope, cutoff, snapshot } = this.#subject;
    const { type: _type, ...plan } = result;
    const whole = {
      policy,
      scope,
      cutoff: new Date(cutoff).toISOString(),
      prefix: snapshot.prefix,
      digest: snapshot.digest,
      ...plan,
    };
    if (this.#format === "json") printJson(this.#io, whole);
    else if (this.#format === "ndjson") this.#io.stdout.write(`${JSON.stringify(whole)}\n`);
    else this.#io.stdout.write(this.#table(result));
    if (result.tooManyDeletes === undefined) return 0;
    this.#io.stderr.write(`TooManyDeletes: ${result.tooManyDeletes}\n`);
    return 1;
  }

  #table({ counters, reasons, planDigest }: PlannedScope): string {
    const { listed = 0, expired = 0, planned = 0, plannedBytes = 0, kept = 0 } = counters;
    const { policy, scope, cutoff, snapshot } = this.#subject;
    const counts = [
      ["listed", String(listed)],
      ["expired", String(expired)],
      ["kept", String(kept)],
      ...Object.entries(reasons).map(([reason, number]) => [`  ${reason}`, String(number)]),
      ["planned", String(planned)],
      ["bytes", String(plannedBytes)],
    ];
    const title = `${policy}, scope ${scope}: versions under ${snapshot.prefix} last modified before ${new Date(cutoff).toISOString()}\n\n`;
    const digest = `\nplan digest  ${planDigest === "" ? "none: nothing is planned" : planDigest}\n`;
    return `${title}${table(["", "VERSIONS"], counts)}${digest}${this.#versions(planned)}`;
  }

  #versions(planned: number): string {
    if (planned === 0) return "";
    const rows = this.#first.map(({ key, versionId, lastModified, size }) => [
      JSON.stringify(key),
      versionId,
      new Date(lastModified).toISOString(),
      String(size),
    ]);
    const rest = planned - rows.length;
    const more = rest > 0 ? `and ${rest} more: -o ndjson lists all\n` : "";
    return `\n${table(["KEY", "VERSION", "LAST MODIFIED", "BYTES"], rows)}${more}`;
  }
}

function shown({ key, versionId, type, lastModified, size }: VersionEntry) {
  return { key, versionId, type, lastModified: new Date(lastModified).toISOString(), size };
}
