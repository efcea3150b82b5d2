import { beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../client.ts";
import { CONFIG_MAPS, type ConfigMap } from "../core-types.ts";
import { EVENTS, EventRecorder } from "../event-recorder.ts";
import type { Happening } from "../event-series.ts";
import type { Live } from "../objects.ts";
import { clientOf, configMap, type ConformanceServer } from "./fixtures.ts";

/** Recording Events. */
export function eventsConformance(server: () => ConformanceServer): void {
  let client: KubeClient;
  let namespace: string;
  let map: Live<ConfigMap>;
  const dropped: unknown[] = [];
  beforeEach(async () => {
    dropped.length = 0;
    client = clientOf(server().auth);
    namespace = await server().namespace();
    map = await client.resource(CONFIG_MAPS).create(configMap(namespace, "a"));
  });
  const recorderFor = (auth = server().auth) =>
    new EventRecorder({
      client: clientOf(auth),
      reportingController: "example.com/test",
      reportingInstance: "test-1",
      onDropped: (error) => dropped.push(error),
    });
  const happening: Happening = { type: "Warning", reason: "Broken", action: "Reconcile", note: "it does not fit" };
  const events = async () => {
    const { items } = await client.resource(EVENTS).list(namespace);
    return items.filter(({ reportingController }) => reportingController === "example.com/test");
  };

  test("an event says what happened to which object, and who says so", async () => {
    const recorder = recorderFor();
    recorder.record(map, { ...happening, related: map });
    await recorder.flush();
    const regarding = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "a", uid: map.metadata.uid };
    const said = { ...happening, regarding, related: regarding, reportingInstance: "test-1" };
    expect(await events()).toEqual([expect.objectContaining(said)]);
    expect(dropped).toEqual([]);
  });

  test("the same again makes a series of one event, another note another event", async () => {
    const recorder = recorderFor();
    recorder.record(map, happening);
    await recorder.flush();
    for (let i = 0; i < 3; i++) recorder.record(map, happening);
    recorder.record(map, { ...happening, note: "something else" });
    await recorder.flush();
    const counts = new Map((await events()).map(({ note, series }) => [note, series?.count]));
    expect([...counts]).toHaveLength(2);
    expect(counts).toEqual(
      new Map([
        ["it does not fit", 4],
        ["something else", undefined],
      ]),
    );
    expect(dropped).toEqual([]);
  });

  test("a note of any length is taken, cut", async () => {
    const recorder = recorderFor();
    recorder.record(map, { ...happening, note: "ä".repeat(2_000) });
    await recorder.flush();
    const [event] = await events();
    expect(event?.note).toMatch(/^ä{400,600}$/);
    expect(dropped).toEqual([]);
  });

  test("an event that the server refuses is dropped, and the next one is tried", async () => {
    const recorder = recorderFor(server().stranger);
    recorder.record(map, happening);
    recorder.record(map, { ...happening, note: "again" });
    await recorder.flush();
    expect(dropped).toMatchObject([{ code: "Forbidden" }, { code: "Forbidden" }]);
    expect(await events()).toEqual([]);
  });
}
