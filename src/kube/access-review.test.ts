import { describe, expect, it } from "vitest";
import { ManualTimers } from "../lib/testing.ts";
import { AccessReviews, isAllowedBy, reviewedUser } from "./access-review.ts";
import { KubeConnectionError } from "./errors.ts";

const user = { username: "system:serviceaccount:shop:digest", uid: "u", groups: ["g"] };
const good = { authenticated: true, user, audiences: ["davit"] };
const rights = { verb: "create", group: "g", resource: "r", namespace: "n", name: "a" };

describe("the status of a TokenReview", () => {
  it("names whose token it is", () => {
    expect(reviewedUser(good, "davit")).toEqual(user);
    const extra = { "authentication.kubernetes.io/pod-name": ["a"] };
    expect(reviewedUser({ ...good, user: { ...user, extra } }, "davit")).toEqual({ ...user, extra });
    expect(reviewedUser({ ...good, user: { username: "a" } }, "davit")).toEqual({ username: "a", groups: [] });
  });

  it.each([
    ["of another audience", { ...good, audiences: ["other"] }],
    ["of a server that knows no audiences", { authenticated: true, user }],
    ["with an audience that only contains ours", { ...good, audiences: "davit" }],
    ["that is not authenticated", { ...good, authenticated: false }],
    ["that says neither", { user, audiences: ["davit"] }],
    ["without a user", { ...good, user: undefined }],
    ["with a user without a name", { ...good, user: { ...user, username: "" } }],
  ])("proves nothing when it is one %s", (_, status) => {
    expect(reviewedUser(status, "davit")).toBeUndefined();
  });
});

describe("the status of a SubjectAccessReview", () => {
  it("allows only what is said to be allowed and not to be denied", () => {
    expect(isAllowedBy({ allowed: true })).toBe(true);
    for (const status of [{}, { allowed: false }, { allowed: "true" }, { allowed: true, denied: true }]) {
      expect(isAllowedBy(status)).toBe(false);
    }
  });
});

describe("reviews without an answer", () => {
  const withJson = (json: () => Promise<never>) =>
    new AccessReviews({ transport: { json }, audience: "davit", timers: new ManualTimers() });

  it("are an error that says why, and are not kept", async () => {
    let asked = 0;
    const reviews = withJson(() => {
      asked += 1;
      return Promise.reject(new KubeConnectionError("Unreachable", "connection refused"));
    });
    for (const _ of [1, 2]) {
      await expect(reviews.authenticate("t")).rejects.toMatchObject({
        code: "Unanswered",
        message: expect.stringContaining("refused") as string,
      });
      await expect(reviews.isAllowed(user, rights)).rejects.toMatchObject({ code: "Unanswered" });
    }
    expect(asked).toBe(4);
  });

  it("do not pile up without bound, and one token waits once however often it comes", async () => {
    let asked = 0;
    const reviews = withJson(() => {
      asked += 1;
      return new Promise<never>(() => undefined);
    });
    const waiting = Array.from({ length: 500 }, () => reviews.authenticate("same"));
    for (let n = 0; n < 271; n += 1) waiting.push(reviews.authenticate(`other-${n}`));
    await expect(reviews.authenticate("one too many")).rejects.toMatchObject({ code: "Busy" });
    expect([waiting.length, asked]).toEqual([771, 16]);
  });
});
