/** The runners that could run a model: whether there are any, and which ones need not download its image. */
import {
  type PoolRunEstimate,
  type RunEstimate,
  runEstimateOf,
} from "../../domain/models/run-estimate.ts";
import { pickVariables } from "../../domain/models/variables.ts";
import type { Priced } from "../../domain/money/cost.ts";
import { pricesInForce } from "../../domain/money/prices-in-force.ts";
import { priceOfTime } from "../../domain/predictions/estimate.ts";
import type { SomeReason } from "../../domain/scheduling/decide/explain-class.ts";
import { isolationKeys } from "../../domain/scheduling/isolation.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import { DEFAULT_ISOLATION } from "../../protocol/model.ts";
import type { JobHardware } from "../../protocol/runner.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { findVariables } from "../../storage/models/variables.ts";
import { listPricesAt } from "../../storage/models/version-prices.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { findHardware } from "../../storage/runners/hardware.ts";
import { runnerIsThere } from "../../storage/runners/runners.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";
import { readRunners } from "./fleet.ts";
import { poolIfMade } from "./pools.ts";

/** Returns the class of machine that a version runs on. @param version null: none yet */
export const hardwareOf = (
  { hardware }: Pick<EstimatedModel, "hardware">,
  version: Pick<VersionRow, "configuration"> | null,
): string => version?.configuration.hardware_identifier ?? hardware?.identifier ?? DEFAULT_HARDWARE;

/** Returns the class that came with the model, or reads the class of a version that runs on another. */
const findClass = async (
  { db }: Services,
  { runsOn, pool_made_at }: Pick<DetailedModelRow, "runsOn" | "pool_made_at">,
  identifier: string,
) =>
  runsOn?.identifier === identifier ? { ...runsOn, pool_made_at } : findHardware(db, identifier);

/**
 * Whether a runner has ever registered, and may still connect.
 * @param hardware undefined: of any class
 */
export const isServed = ({ db }: Services, hardware: string | undefined): Promise<boolean> =>
  runnerIsThere(db, hardware);

/** The most runners that are looked at, each with a call. */
const MAX_RUNNERS = 20;

export interface ImagePlaces {
  /** The runners that have the image, those with a running container first. */
  runners: { name: string; isWarm: boolean }[];
  /** How many runners have it besides these. */
  more: number;
}

/**
 * Returns the runners that have a version's image, or a container of it for this caller, as far as its pool
 * knows.
 * @returns undefined when the pool does not answer
 */
export async function findImagePlaces(
  services: Services,
  caller: Caller,
  model: DetailedModelRow,
  version: VersionRow,
): Promise<ImagePlaces | undefined> {
  const hardware = hardwareOf(model, version);
  const row = await findClass(services, model, hardware);
  const pool = row && poolIfMade(services, row.pool, row.pool_made_at);
  if (!pool) return { runners: [], more: 0 };
  const job = { hardware, ...(await requirements(services, caller, model, version, row)) };
  const found = await withTimeout(pool.holders(job, MAX_RUNNERS), `pool ${row.pool}`);
  if (!found) return undefined;
  const warm = new Set(found.runners.flatMap((one) => (one.isWarm ? one.runner_id : [])));
  const states = await readRunners(
    services,
    found.runners.map(({ runner_id }) => runner_id),
  );
  // The pool keeps the last report of a runner that vanished while it was busy.
  const runners = states
    .filter(({ state }) => state === "ready" || state === "draining")
    .map(({ id, name }) => ({ name, isWarm: warm.has(id) }))
    .toSorted((a, b) => Number(b.isWarm) - Number(a.isWarm) || a.name.localeCompare(b.name));
  return { runners, more: found.more };
}

/** How long a page waits for a pool: it has more to show than the pool's answer. */
const ESTIMATE_MS = 500;

const NOBODY: PoolRunEstimate = {
  isWarm: false,
  hasRoom: false,
  isServed: false,
  setup_ms: null,
  run_ms: null,
};

/** The fields of a model that tell its hardware and prices. */
type EstimatedModel = Pick<DetailedModelRow, "id" | "runsOn" | "pool_made_at"> & {
  owner: Pick<DetailedModelRow["owner"], "id">;
  hardware: Pick<NonNullable<DetailedModelRow["hardware"]>, "identifier"> | null;
};

export interface VersionEstimate {
  /** The name of the hardware that the version runs on. */
  hardware: string;
  runEstimate: RunEstimate;
  /**
   * Why predictions of the model wait for the hardware of the version, of all accounts. Undefined for a
   * caller who may not know, and when the pool does not answer.
   */
  wait: SomeReason[] | undefined;
  /** The prices of such a run. */
  priced: Priced;
}

/**
 * Returns what the caller can expect of a run of a version, as far as its pool knows. It regards the
 * containers that the run could use, so none of another account where containers are not shared.
 * @param caller undefined: a visitor
 * @param seesWait for the model's owner and for operators
 */
export async function readEstimate(
  services: Services,
  caller: Caller | undefined,
  { model, version, seesWait }: { model: EstimatedModel; version: VersionRow; seesWait: boolean },
): Promise<VersionEstimate> {
  const { isolation = DEFAULT_ISOLATION, remote } = version.configuration;
  const hardware = remote ? new URL(remote.url).host : hardwareOf(model, version);
  const row = remote ? undefined : await findClass(services, model, hardware);
  const pool = row && poolIfMade(services, row.pool, row.pool_made_at);
  const asked = <T>(answer: Promise<T>) => withTimeout(answer, `pool ${row?.pool}`, ESTIMATE_MS);
  const [report, wait, dated] = await Promise.all([
    // A pool that no runner has polled and no job has used has no object.
    pool
      ? requirements(services, caller, model, version, row).then((needs) =>
          asked(pool.runEstimate({ hardware, gpus: row.gpus, ...needs })),
        )
      : NOBODY,
    pool && seesWait ? asked(pool.waitOf(model.id)) : undefined,
    listPricesAt(services.db, version, Date.now()),
  ]);
  const price_per_hour = row?.price_per_hour ?? null;
  const isOwn = caller?.user_id === model.owner.id;
  const prices = pricesInForce(dated, isOwn, price_per_hour, Date.now());
  const priced: Priced = {
    price_per_hour,
    charges_setup: services.settings.chargesSetup,
    ...(prices && { prices }),
  };
  const known = remote ? undefined : report;
  const runEstimate = runEstimateOf(known, isolation, (ms) => priceOfTime(priced, ms));
  return { hardware: row?.name ?? hardware, runEstimate, wait, priced };
}

/** The requirements of a prediction of the caller (services/predictions/prediction-spec.ts). */
async function requirements(
  { db, settings }: Services,
  caller: Caller | undefined,
  { id: model_id }: Pick<DetailedModelRow, "id">,
  { number, configuration, repository, container_image_digest: digest }: VersionRow,
  hardware: JobHardware,
) {
  const { variable_names: names = [] } = configuration;
  const variables = names.length > 0 ? await findVariables(db, model_id) : {};
  const { container } = await isolationKeys(settings.secretKeys.at(-1) ?? "", {
    model_id,
    version_number: number,
    hardware,
    variables: pickVariables(names, variables),
    isolation: configuration.isolation ?? DEFAULT_ISOLATION,
    user_id: caller?.user_id ?? "",
    prediction_id: "",
  });
  return { image: `${configuration.image ?? repository}@${digest}`, container_key: container };
}
