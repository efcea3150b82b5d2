import { expect, test } from "vitest";
import { canIRemedy, requestInfo } from "./request-info.ts";

test.each([
  ["GET", "/api/v1/secrets", false, ["list", "secrets", undefined, undefined]],
  ["GET", "/api/v1/namespaces/shop/secrets", true, ["watch", "secrets", "shop", undefined]],
  ["GET", "/api/v1/namespaces/shop/secrets/a", false, ["get", "secrets", "shop", "a"]],
  ["GET", "/api/v1/namespaces/shop", false, ["get", "namespaces", undefined, "shop"]],
  ["POST", "/apis/apps/v1/namespaces/shop/deployments", false, ["create", "deployments.apps", "shop", undefined]],
  ["PUT", "/apis/apps/v1/namespaces/shop/deployments/a", false, ["update", "deployments.apps", "shop", "a"]],
  ["PATCH", "/apis/davit.dev/v1/namespaces/s/routes/a/status", false, ["patch", "routes.davit.dev/status", "s", "a"]],
  ["DELETE", "/api/v1/namespaces/shop/pods/a", false, ["delete", "pods", "shop", "a"]],
  ["GET", "/version", false, ["get", "/version", undefined, undefined]],
  ["GET", "/apis/apps/v1", false, ["get", "/apis/apps/v1", undefined, undefined]],
] as const)("%s %s is what RBAC calls it", (method, path, watch, [verb, resource, namespace, name]) => {
  expect(requestInfo(method, path, watch)).toEqual({ verb, resource, namespace, name });
});

test("the remedy is a command that can be pasted", () => {
  const info = requestInfo("GET", "/apis/apps/v1/namespaces/shop/deployments");
  expect(canIRemedy(info, "system:serviceaccount:davit:gateway")).toContain(
    "kubectl auth can-i list deployments.apps --namespace shop --as system:serviceaccount:davit:gateway",
  );
  expect(canIRemedy(requestInfo("GET", "/api/v1/secrets"))).toMatch(/can-i list secrets --all-namespaces$/);
  const status = requestInfo("PATCH", "/apis/davit.dev/v1/namespaces/shop/routes/a/status");
  expect(canIRemedy(status)).toMatch(
    /not allowed to patch routes.davit.dev\/status .*can-i patch routes.davit.dev\/a --subresource status --namespace shop$/,
  );
});
