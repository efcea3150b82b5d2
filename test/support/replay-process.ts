// What a worker does for replays, as a process of its own that can be killed: the janitor alone, which delivers nothing.
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";

const [url = "", tag = ""] = process.argv.slice(2);
const redis = connect(url);
await new Promise((ready) => redis.once("ready", ready));
new Janitor(redis, tag, { policies: () => [] }).start(async () => undefined);
process.send?.("ready");
