import { outageTests } from "./outage-tests.ts";

// All of these wait for something to run out, so they run at the same time.
outageTests();
