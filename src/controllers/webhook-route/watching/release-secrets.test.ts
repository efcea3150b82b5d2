import { expect, test } from "vitest";
import { releaseSecrets } from "./release-secrets.ts";

/** Whether Secrets of the namespace are let go of. */
function isReleased(routes: number, destinations: number, ...others: readonly boolean[]): boolean {
  const released: string[] = [];
  const keys = (count: number) => () => Array.from({ length: count }, () => "shop/any");
  releaseSecrets(
    { tenantSecrets: { release: (namespace: string) => released.push(namespace) } } as never,
    {
      routes: { ofNamespace: keys(routes) },
      destinations: { index: { ofNamespace: keys(destinations) } },
      otherUsers: others.map((uses) => () => uses),
    } as never,
    "shop",
  );
  return released.length > 0;
}

test("Secrets of a namespace are watched as long as a route, a destination or anybody else there may refer to one", () => {
  expect(isReleased(0, 0)).toBe(true);
  expect(isReleased(0, 0, false, false)).toBe(true);
  expect([isReleased(1, 0), isReleased(0, 1), isReleased(0, 0, false, true)]).toEqual([false, false, false]);
});
