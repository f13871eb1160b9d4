/** The prices of versions: their owner's, for runs of the owner's account, and operators', for all runs. */
import { accessToModel } from "../../domain/accounts/access.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notVisible } from "../../errors/errors.ts";
import { amountText } from "../../protocol/money.ts";
import type { Prices, Setter, SetVersionPrices, VersionPrices } from "../../protocol/prices.ts";
import { writeWithinQuota } from "../../storage/accounts/account-bytes.ts";
import { type DetailedModelRow, findModelByName } from "../../storage/models/models.ts";
import {
  findPricesAt,
  listVersionPrices as pricesOf,
  savingPrices,
  type VersionPricesRow,
} from "../../storage/models/version-prices.ts";
import { findVersion } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { getUser } from "../access/accounts.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel, forgetVersion, versionNotFound } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { readModel, readOwnModel } from "./models.ts";
import { ofVersion } from "./versions.ts";

/** The prices of a version that the owner, and that operators, can have set, past ones included. */
const MAX_PRICES = 100;

/** The version of a request: `owner/name`, and its number. */
type Place = readonly [owner: string, name: string, number: number];

/**
 * Lists the prices of a version, the owner's first, each newest first. Only the owner's account sees the owner's.
 * @throws ProblemError not_found, forbidden
 */
export async function listVersionPrices(
  services: Services,
  caller: Caller | undefined,
  [owner, name, number]: Place,
  request: PageRequest,
): Promise<Page<VersionPrices>> {
  const model = await readModel(services, caller, owner, name);
  const { id } = model;
  await versionOf(services, model, number);
  const setter = seesOwners(caller, model) ? undefined : "operator";
  return paginate(services, request, {
    name: `prices/${id}:${number}/${setter}`,
    find: (keyset) => pricesOf(services.db, id, number, setter, keyset),
    keyOf: ({ set_by, starts_at }) => [set_by, starts_at],
    present,
  });
}

/** Whether the caller is of the account whose runs the owner's prices count for. */
const seesOwners = (caller: Caller | undefined, model: DetailedModelRow): boolean =>
  caller?.user_id === model.owner.id &&
  accessToModel(caller, { ...model, owner_id: model.owner.id }, "run") === "granted";

/**
 * Sets the prices of a version for runs of the owner's own account.
 * @throws ProblemError not_found, forbidden, conflict; ValidationFailure
 */
export async function setOwnPrices(
  services: Services,
  caller: Caller,
  [owner, name, number]: Place,
  request: SetVersionPrices,
): Promise<VersionPrices> {
  const model = await readOwnModel(services, caller, owner, name);
  const set = await setPrices(services, model, number, "owner", request);
  forgetModel(caller, owner, name);
  return set;
}

/**
 * Sets the prices of a version for runs of any account, as an operator.
 * @throws ProblemError not_found, conflict; ValidationFailure
 */
export async function setOperatorPrices(
  services: Services,
  [owner, name, number]: Place,
  request: SetVersionPrices,
): Promise<VersionPrices> {
  const { id } = await getUser(services, owner);
  const model = await findModelByName(services.db, owner, name, id);
  if (!model) throw notVisible(`The model '${owner}/${name}'`);
  const set = await setPrices(services, model, number, "operator", request);
  forgetModel({ user_id: id }, owner, name);
  return set;
}

async function setPrices(
  services: Services,
  model: DetailedModelRow,
  number: number,
  set_by: Setter,
  { prices, from }: SetVersionPrices,
): Promise<VersionPrices> {
  const { db } = services;
  const version = await versionOf(services, model, number);
  const now = Date.now();
  const starts_at = from === undefined ? now : Date.parse(from);
  if (starts_at < now) throw invalid(["body", "from"], "Prices cannot begin to count in the past");
  const row: VersionPricesRow = {
    ...{ model_id: model.id, version_number: number, set_by, starts_at },
    prices,
  };
  const entry = auditEntry({
    action: "version.priced",
    ...ofVersion(model, version),
    before: { set_by: null, from: null, prices: shown((await findPricesAt(db, row))?.prices) },
    after: { ...present(row) },
  });
  const [saving, recording] = savingPrices(db, row, MAX_PRICES, entry);
  const saved =
    set_by === "owner"
      ? withinQuota(
          services,
          writeWithinQuota(db, quotaOf(services, model.owner.id), saving, recording),
        )
      : db.batch([saving, recording]).then(([result]) => result);
  if ((await saved).meta.changes === 0) throw tooMany(set_by, number);
  forgetVersion(model.id, number);
  return present(row);
}

async function versionOf({ db }: Services, model: DetailedModelRow, number: number) {
  const version = await findVersion(db, model.id, number);
  if (!version) throw versionNotFound(`${model.owner.username}/${model.name}`, number);
  return version;
}

const tooMany = (set_by: Setter, number: number) =>
  conflict(
    set_by === "owner"
      ? `Version ${number} has had ${MAX_PRICES} prices, the most of a version. Publish the same image as the next version and set its prices, or send the \`from\` of prices that have not begun to replace them.`
      : `Operators have set ${MAX_PRICES} prices of version ${number}, the most of a version. Send the \`from\` of prices that have not begun to replace them, or ask the owner for another version.`,
  );

const present = ({ set_by, starts_at, prices }: VersionPricesRow): VersionPrices => ({
  set_by,
  from: new Date(starts_at).toISOString(),
  prices: shown(prices),
});

const shown = (prices: Prices | null | undefined): VersionPrices["prices"] =>
  prices
    ? Object.fromEntries(
        Object.entries(prices).flatMap(([name, one]) =>
          one === undefined ? [] : [[name, amountText(one)]],
        ),
      )
    : null;
