import { describe, expect, test } from "vitest";
import { buildObservations, MAX_OBSERVED_ROUTES, parseObservations, sumObservations } from "./observations.ts";

const seen = (number: number, changes: object = {}) => ({
  key: number.toString(16).padStart(16, "0"),
  requests: 10,
  verified: 9,
  refused: 1,
  slow: 0,
  ...changes,
});

describe("observations of a gateway", () => {
  test("come back as they were told", () => {
    const routes = [seen(1), seen(2, { slow: 3 })];
    expect(parseObservations(buildObservations(routes)).toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual(routes);
  });

  test("tell of the worst hundred routes", () => {
    const quiet = seen(1, { refused: 0, requests: 1_000 });
    const many = Array.from({ length: 150 }, (_, number) => seen(number + 2, { refused: number + 1 }));
    const told = parseObservations(buildObservations([quiet, ...many]));
    expect(told).toHaveLength(MAX_OBSERVED_ROUTES);
    expect(told[0]?.refused).toBe(150);
    expect(told.at(-1)?.refused).toBe(51);
  });

  test("tell of routes with which all is well too, the busiest first, and of none without requests", () => {
    const routes = [
      seen(1, { requests: 0, refused: 0 }),
      seen(2, { requests: 5, refused: 0 }),
      seen(3, { requests: 9, refused: 0 }),
      seen(4, { requests: 1, refused: 1 }),
    ];
    expect(parseObservations(buildObservations(routes)).map(({ requests }) => requests)).toEqual([1, 9, 5]);
  });

  test.each([
    undefined,
    "",
    "null",
    "[]",
    '{"schema":2,"routes":[["0000000000000001",1,1,1,1]]}',
    '{"schema":1,"routes":7}',
    '{"schema":1,"routes":[7,null,["x",1,1,1,1],["0000000000000001",1,1,1],["0000000000000001",-1,1,1,1],["0000000000000001",1,1,"1",1]]}',
  ])("that cannot be read say nothing: %s", (text) => {
    expect(parseObservations(text)).toEqual([]);
  });

  test("of several gateways are added up by route", () => {
    const sums = sumObservations([[seen(1), seen(2)], [seen(1, { slow: 2 })]]);
    expect(sums.get(seen(1).key)).toEqual(seen(1, { requests: 20, verified: 18, refused: 2, slow: 2 }));
    expect(sums.size).toBe(2);
  });
});
