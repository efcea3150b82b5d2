/** What helps whoever plans from a laptop, by the reason why there is no plan; reasons whose message says it already are not here. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  [
    "InvalidCredentials",
    "name the manifest with the Secret of spec.s3.credentialsSecretRef with another -f; without it, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
  ],
  ["AccessDenied", "grant the rights of a dry run, which docs/cleanup.md lists"],
  ["BucketNotFound", "correct spec.s3.bucket, or spec.s3.endpoint and spec.s3.region, which say where it is"],
  [
    "Unreachable",
    "correct spec.s3.endpoint; if its name is one of the cluster, plan from a place that reaches it, such as behind kubectl port-forward",
  ],
  ["Timeout", "look whether the store is slow, or something in between drops packets"],
  ["SlowDown", "try again when the store has less to do"],
  [
    "InvalidListing",
    "the store's listing cannot be trusted: nothing can be planned until its operator has looked at it",
  ],
]);

/** One line; `undefined`: what was said is all there is to say. */
export function remedyOf(reason: string): string | undefined {
  return REMEDIES.get(reason);
}
