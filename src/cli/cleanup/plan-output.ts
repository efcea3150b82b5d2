import type { CleanupCounters, CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { PlannedScope, ScopeNotPlanned } from "../../cleanup/run/plan-scope.ts";
import type { VersionEntry } from "../../cleanup/store/port.ts";
import { type Io, printJson, UsageError } from "../command.ts";
import { ProgressBar } from "../progress.ts";
import { table } from "../table.ts";
import { remedyOf } from "./remedies.ts";

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

/** How a plan is shown. */
export interface PlanView {
  readonly format: PlanFormat;
  /** Versions that the table shows; `-o ndjson` has all. */
  readonly limit: number;
}

/** Between two words about progress where there is no terminal, ms. */
const TELL_MS = 10_000;

/** Says how a plan comes along, and what it is. */
export class PlanOutput {
  readonly #io: Io;
  readonly #view: PlanView;
  readonly #subject: PlanSubject;
  readonly #bar: ProgressBar;
  readonly #first: VersionEntry[] = [];
  #total = 0;
  #toldAt = performance.now();

  constructor(io: Io, view: PlanView, subject: PlanSubject) {
    this.#io = io;
    this.#view = view;
    this.#subject = subject;
    this.#bar = new ProgressBar(io.stderr);
  }

  /** Whether a bar is drawn, which has to know how much there is. None goes between lines of the list on the same terminal. */
  get hasBar(): boolean {
    const { stdout, stderr } = this.#io;
    return stderr.isTTY === true && !(this.#view.format === "ndjson" && stdout.isTTY === true);
  }

  planned(entries: readonly VersionEntry[]): void {
    const { format, limit } = this.#view;
    if (format === "ndjson") for (const entry of entries) this.#io.stdout.write(`${JSON.stringify(shown(entry))}\n`);
    const room = limit - this.#first.length;
    if (room > 0) this.#first.push(...entries.slice(0, room));
  }

  progress({ listed = 0, planned = 0 }: CleanupCounters, pass: string): void {
    if (pass === "Survey") this.#total = listed;
    if (!this.hasBar) return this.#tell(`planning: ${listed} versions looked at, ${planned} planned`);
    if (pass === "Survey") this.#io.stderr.write(`\rcounting: ${listed} versions\u001b[K`);
    else this.#bar.show({ done: listed, total: this.#total, state: `${planned} planned` });
  }

  /** Now and then, so that a log does not fill. */
  #tell(text: string): void {
    if (performance.now() - this.#toldAt < TELL_MS) return;
    this.#toldAt = performance.now();
    this.#io.stderr.write(`${text}\n`);
  }

  /** Says that somebody ended it. @returns the exit code */
  stopped(): number {
    this.#erase();
    this.#io.stderr.write("stopped before the end: there is no plan\n");
    return 1;
  }

  /** @returns the exit code */
  end(result: PlannedScope | ScopeNotPlanned): number {
    this.#erase();
    return result.type === "failed" ? this.#failed(result) : this.#plan(result);
  }

  #erase(): void {
    if (this.hasBar) this.#io.stderr.write("\r\u001b[K");
  }

  #failed({ reason, message, retryable }: ScopeNotPlanned): number {
    const remedy = remedyOf(reason);
    const again = retryable ? " (trying again may help)" : "";
    this.#io.stderr.write(`${reason}: ${message}${again}\n${remedy === undefined ? "" : `${remedy}\n`}`);
    return 1;
  }

  #plan(result: PlannedScope): number {
    const { format } = this.#view;
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
    if (format === "json") printJson(this.#io, whole);
    else if (format === "ndjson") this.#io.stdout.write(`${JSON.stringify(whole)}\n`);
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
    if (rows.length === 0) return `\n${more}`;
    return `\n${table(["KEY", "VERSION", "LAST MODIFIED", "BYTES"], rows)}${more}`;
  }
}

function shown({ key, versionId, type, lastModified, size }: VersionEntry) {
  return { key, versionId, type, lastModified: new Date(lastModified).toISOString(), size };
}
