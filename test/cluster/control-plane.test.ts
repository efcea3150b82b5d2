import { describe, expect, test } from "vitest";
import { sharedCluster } from "../support/cluster.ts";

const cluster = sharedCluster();

describe("the control plane", () => {
  test("is Kubernetes 1.34", async () => {
    expect(await cluster.admin.get("/version")).toMatchObject({ major: "1", minor: "34" });
  });

  test("gives a namespace its default service account, and a token for it that RBAC knows", async () => {
    const namespace = await cluster.namespace();
    const client = await cluster.clientFor({ namespace, serviceAccount: "default" });
    const review = await client.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
    expect(review["status"].userInfo.username).toBe(`system:serviceaccount:${namespace}:default`);
    expect((await client.request("GET", `/api/v1/namespaces/${namespace}/secrets`)).status).toBe(403);
  });

  test("completes the deletion of a namespace", async () => {
    const namespace = await cluster.namespace();
    await cluster.admin.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: "a" } });
    await cluster.admin.delete(`/api/v1/namespaces/${namespace}`);
    await expect
      .poll(async () => (await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}`)).status, {
        timeout: 20_000,
      })
      .toBe(404);
  });
});
