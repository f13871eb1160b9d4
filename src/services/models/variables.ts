/**
 * Variables of models: environment variables of their containers, usually secrets. The model's owner
 * sets and deletes them; they are stored encrypted and decrypted only for runners.
 */
import { encryptVariable } from "../../domain/models/variables.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type { AuditAction } from "../../protocol/audit.ts";
import type { Variable } from "../../protocol/variable.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import {
  deleteVariable as deleteRow,
  saveVariable,
  type VariableSummaryRow,
  listVariables as variablesOf,
} from "../../storage/models/variables.ts";
import type { Caller } from "../access/access.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { ofModel, readOwnModel } from "./models.ts";

/**
 * Variables are limited because they are stored with each prediction, whose record is one row of at most 2
 * MB.
 */
const LIMITS = { variables: 100, chars: 128 * 1024 };

/** Lists variables by name, without values. @throws ProblemError not_found, forbidden */
export async function listVariables(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  request: PageRequest,
): Promise<Page<Variable>> {
  const { id } = await readOwnModel(services, caller, owner, name);
  return paginate(services, request, {
    name: `variables/${id}`,
    find: (keyset) => variablesOf(services.db, id, keyset),
    keyOf: ({ name }) => [name],
    present,
  });
}

/**
 * Sets a variable for predictions created from now on, everywhere within 10 s.
 * @param variable validated name and value
 * @throws ProblemError not_found, forbidden, conflict; unavailable without SECRET_KEY
 */
export async function setVariable(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  variable: { name: string; value: string },
): Promise<Variable> {
  const model = await readOwnModel(services, caller, owner, name);
  const { id } = model;
  const { secretKeys } = services.settings;
  if (secretKeys.length === 0) throw noKey();
  const row = {
    model_id: id,
    name: variable.name,
    sealed: await encryptVariable(secretKeys, id, variable.name, variable.value),
    updated_at: Date.now(),
  };
  const entry = entryOf("variable.set", model, variable.name);
  const saving = saveVariable(services.db, row, LIMITS, quotaOf(services, caller.user_id), entry);
  if (!(await withinQuota(services, saving))) {
    throw conflict(
      `A model can have at most ${LIMITS.variables} variables, and about 90 KB in total. Delete one that no version uses.`,
    );
  }
  forgetModel(caller, owner, name);
  return present(row);
}

/** @throws ProblemError not_found, forbidden */
export async function deleteVariable(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  variable: string,
): Promise<void> {
  const model = await readOwnModel(services, caller, owner, name);
  const entry = entryOf("variable.deleted", model, variable);
  if (!(await deleteRow(services.db, model.id, variable, entry)))
    throw notFound(`The variable '${variable}'`);
  forgetModel(caller, owner, name);
}

/** An entry of the audit log, without the value. */
function entryOf(action: AuditAction, model: DetailedModelRow, name: string) {
  const { account_id, targets } = ofModel(model);
  return auditEntry({
    action,
    account_id,
    targets: [{ type: "variable", id: name, name }, ...targets],
  });
}

const present = ({ name, updated_at }: VariableSummaryRow): Variable => ({
  name,
  updated_at: new Date(updated_at).toISOString(),
});

const noKey = () =>
  new ProblemError(
    "unavailable",
    "This deployment has no key to encrypt variables. The operator must set one: `openssl rand -base64 32 | npx wrangler secret put SECRET_KEY`.",
  );
