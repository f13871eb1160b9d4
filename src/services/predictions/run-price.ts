/** What a run has cost. */
import { priceOf } from "../../domain/predictions/price.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { findVersion } from "../../storage/models/versions.ts";
import { findHardware } from "../../storage/runners/hardware.ts";
import type { Services } from "../services.ts";

/**
 * In the deployment's currency, at the price that its hardware has now.
 * @returns undefined while it runs, when its version is gone, and where no price is set
 */
export async function runPrice(
  { db }: Services,
  { id, hardware: ofModel }: Pick<DetailedModelRow, "id" | "hardware">,
  { execution_time, model }: Prediction,
): Promise<number | undefined> {
  if (execution_time === null) return undefined;
  const version = await findVersion(db, id, model.version_number);
  if (!version) return undefined;
  const own = version.configuration.hardware_identifier;
  const hardware =
    own === undefined && ofModel ? ofModel : await findHardware(db, own ?? DEFAULT_HARDWARE);
  const { price_per_hour = null } = hardware ?? {};
  return price_per_hour === null ? undefined : priceOf(Number(execution_time), price_per_hour);
}
