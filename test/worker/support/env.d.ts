/** Bindings that only the tests have, in addition to those of src/env.ts. */
import type { D1Migration } from "cloudflare:test";
import type * as worker from "../../../src/worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      OPERATOR_TOKEN: string;
      IMAGE_REGISTRY: string;
      MIGRATIONS: D1Migration[];
    }
    interface GlobalProps {
      mainModule: typeof worker;
    }
  }
}
