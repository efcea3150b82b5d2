/** A refusal, answered as `metav1.Status`. */
export class StatusError extends Error {
  readonly status: number;
  readonly body: object;

  constructor(status: number, reason: string, message: string, details: object = {}) {
    super(message);
    this.status = status;
    this.body = { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason, message, details };
  }
}

export const notFound = (what: string) => new StatusError(404, "NotFound", `${what} not found`);
export const conflict = (what: string) =>
  new StatusError(409, "Conflict", `Operation cannot be fulfilled on ${what}: the object has been modified`);
export const gone = () => new StatusError(410, "Expired", "The resourceVersion is too old");

/** As kube-apiserver 1.34 answers a patch whose `metadata.uid` is not the object's. */
export const otherUid = (what: string) =>
  new StatusError(422, "Invalid", `${what} is invalid: metadata.uid: Invalid value`, {
    causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }],
  });
