/** The variables that a request carries through middleware and routes. */
import type { RateStatus } from "./domain/accounts/rate-limit.ts";
import type { Bindings } from "./env.ts";
import type { JsonSource } from "./lib/json-text.ts";
import type { Caller, Operator, RunnerCaller } from "./services/access/access.ts";
import type { InlineFiles, SentBy } from "./services/predictions/inline-files.ts";
import type { ResolvedVersion } from "./services/predictions/version-resolution.ts";
import type { Services } from "./services/services.ts";

/** Hono's environment type for the API. */
export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    services: Services;
    caller: Caller;
    /** The runner and the token that authenticated the request. */
    runner: RunnerCaller;
    operator: Operator;
    /** The model whose images a runner's grant opens. */
    granted: string | undefined;
    /** The kind of long files that are taken out of the body when it is read, and the files that were. */
    takesFilesOf: SentBy | undefined;
    inlineFiles: InlineFiles | undefined;
    /** The JSON body as it was read, and its text without those files. */
    sentBody: JsonSource | undefined;
    /** The request body as it was read and as it was validated, which `releaseBody` empties. */
    bodies: object[] | undefined;
    /** Frees the memory of the request body, for handlers that wait for something else afterwards. */
    releaseBody: (() => void) | undefined;
    /** The version that a call of the OpenAI convention runs. */
    target: ResolvedVersion;
    /** The prediction that such a call created. */
    predictionId: string | undefined;
    /** The cost of the call's prediction, which has ended. */
    cost: string | undefined;
    /** The version that has answered the call of a deployment. */
    answeredBy: string | undefined;
    /** Tool types in the request that were removed because the model does not support them. */
    omittedTools: string[] | undefined;
    /** Types of items or blocks of content in the request that the model does not support. */
    omittedContent: string[] | undefined;
    /** The rate limit that this request has come closest to. */
    rate: RateStatus | undefined;
  };
}
