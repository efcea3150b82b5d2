import { describe, expect, it } from "vitest";
import type { RouteEntry } from "../routes/entry.ts";
import { ServedRoutes } from "./served-routes.ts";
import { routeEntry } from "./testing.ts";

function start() {
  const told: string[] = [];
  const key = ({ route }: RouteEntry) => route;
  const routes = new ServedRoutes(
    (entry) => told.push(`+${key(entry)}`),
    (entry) => told.push(`-${key(entry)}`),
  );
  return { routes, told };
}

const A = routeEntry({ name: "a", route: "aaaa" });
const B = routeEntry({ name: "b", route: "bbbb" });

describe("the served routes", () => {
  it("are found by namespace and name for as long as they are served", () => {
    const { routes, told } = start();
    routes.update([A, B]);
    expect([routes.named("shop", "a"), routes.named("shop", "b")]).toEqual([A, B]);
    expect([routes.named("other", "a"), routes.named("shop", "c")]).toEqual([undefined, undefined]);
    routes.update([B]);
    expect(routes.named("shop", "a")).toBeUndefined();
    routes.change({ put: [A], gone: [B] });
    expect([routes.named("shop", "a"), routes.named("shop", "b")]).toEqual([A, undefined]);
    expect(told).toEqual(["+aaaa", "+bbbb", "-aaaa", "+bbbb", "-bbbb", "+aaaa"]);
  });

  it("keep a route that is put and gone at once", () => {
    const { routes, told } = start();
    routes.update([A]);
    routes.change({ put: [A], gone: [A] });
    expect(routes.named("shop", "a")).toBe(A);
    expect(told).toEqual(["+aaaa", "+aaaa"]);
  });

  it("are not lost by the end of a route of the same name in an earlier namespace", () => {
    const { routes } = start();
    const again = { ...A, route: "cccc" };
    routes.update([A]);
    routes.change({ put: [again], gone: [] });
    routes.change({ put: [], gone: [A] });
    expect(routes.named("shop", "a")).toBe(again);
  });
});
