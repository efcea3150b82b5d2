/** Divisors and factors of the suffixes (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/). */
const DIVISORS: Readonly<Record<string, number>> = { n: 1e9, u: 1e6, m: 1e3 };
const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Whether two quantities say the same in different ways: `0.5` and `500m`, `1024Mi` and `1Gi`. What is no quantity equals nothing. */
export function sameQuantity(a: unknown, b: unknown): boolean {
  const [left, right] = [quantityOf(a), quantityOf(b)];
  return left !== undefined && left === right;
}

/** The number that a quantity stands for, `undefined` if it is none. Dividing keeps decimals exact: 700m is 0.7. */
export function quantityOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  const match = /^([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(value);
  if (match === null) return undefined;
  const [, digits = "", exponent, suffix = ""] = match;
  if (exponent !== undefined) return Number(`${digits}e${exponent}`);
  const divisor = DIVISORS[suffix];
  return divisor === undefined ? Number(digits) * (FACTORS[suffix] ?? Number.NaN) : Number(digits) / divisor;
}
