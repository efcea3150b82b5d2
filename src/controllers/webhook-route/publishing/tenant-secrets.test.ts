import { expect, test } from "vitest";
import type { Secret } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import { TenantSecrets } from "./tenant-secrets.ts";

function secretAt(resourceVersion: string, value: string): Live<Secret> {
  const metadata = { namespace: "shop", name: "stripe", uid: "u", resourceVersion };
  return { metadata, data: { key: Buffer.from(value).toString("base64") } };
}

test("an answer that comes late does not take the place of a newer one", async () => {
  let shown = "10";
  const answers: ((secret: Live<Secret>) => void)[] = [];
  const secrets = new TenantSecrets({
    metadata: { state: () => "Synced", get: () => secretAt(shown, "") },
    client: { find: () => new Promise((resolve) => answers.push(resolve)) },
  });
  const valueOf = async (reading: ReturnType<TenantSecrets["read"]>) =>
    (await reading).secrets?.get("stripe")?.data.get("key")?.toString();
  const [slow, fast] = [valueOf(secrets.read("shop", ["stripe"])), valueOf(secrets.read("shop", ["stripe"]))];
  answers[1]?.(secretAt("11", "new"));
  expect(await fast).toBe("new");
  answers[0]?.(secretAt("10", "old"));
  expect(await slow).toBe("new");
  shown = "11";
  expect(await valueOf(secrets.read("shop", ["stripe"]))).toBe("new");
});
