/** Which check found a problem. */
export type ProblemSource = "manifest" | "schema" | "cel" | "semantic";

/** Something wrong with (or doubtful about) a manifest. Never holds a secret's value. */
export interface Problem {
  /** Field, for example `spec.destinations[0].url`. Empty: the whole object. */
  readonly path: string;
  readonly message: string;
  /** What to do, when the message does not say it already. */
  readonly remedy?: string;
  readonly source: ProblemSource;
  /** A warning is shown and refuses nothing. */
  readonly severity: "error" | "warning";
}

/** Whether any of the problems refuses the manifest. */
export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some((problem) => problem.severity === "error");
}

/** One line: `field: message (remedy)`. */
export function formatProblem(problem: Problem): string {
  const field = problem.path === "" ? "" : `${problem.path}: `;
  const remedy = problem.remedy === undefined ? "" : ` (${problem.remedy})`;
  return `${problem.severity === "warning" ? "warning: " : ""}${field}${problem.message}${remedy}`;
}

/** Appends a step to a field path: `.name` for plain keys, `[0]` for indexes, `[any key]` for others. */
export function joinPath(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${path}[${step}]`;
  return path === "" ? step : `${path}.${step}`;
}

/** Whether `path` is `ancestor` or lies below it. */
export function isWithin(path: string, ancestor: string): boolean {
  if (ancestor === "" || path === ancestor) return true;
  return path.startsWith(`${ancestor}.`) || path.startsWith(`${ancestor}[`);
}
