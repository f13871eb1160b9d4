/** Categories of models, which the operator manages. */
import { type Loc, unknownNameIssues } from "../../domain/schemas/validation.ts";
import { notFound } from "../../errors/errors.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import type { Category } from "../../protocol/model.ts";
import {
  listCategories as categoriesOf,
  deleteCategory as deleteRow,
  findCategories,
  findCategory,
  saveCategory,
} from "../../storage/models/categories.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";

/** @param db the database to read: by default the primary */
export const listCategories = (
  services: Services,
  request: PageRequest,
  db = services.db,
): Promise<Page<Category>> =>
  paginate(services, request, {
    name: "categories",
    find: (keyset) => categoriesOf(db, keyset),
    keyOf: ({ slug }) => [slug],
    present: services.present.category,
  });

export async function putCategory(
  { db, present }: Services,
  slug: string,
  request: { name: string; description: string },
): Promise<Category> {
  const row = { slug, ...request, created_at: Date.now() };
  const before = await findCategory(db, slug);
  const entry = auditEntry({
    action: before ? "category.updated" : "category.created",
    ...ofCategory(slug),
    ...(before && { before }),
    after: request,
  });
  await saveCategory(db, row, entry);
  return present.category(row);
}

/** Validation issues for categories that do not exist. */
export async function unknownCategories(
  { db }: Services,
  slugs: string[],
  locOf: (n: number) => Loc,
): Promise<ValidationIssue[]> {
  if (slugs.length === 0) return [];
  const found = await findCategories(db, slugs);
  const known = found.map(({ slug }) => slug);
  return unknownNameIssues(slugs, known, locOf, "/v1/model_categories");
}

/** Deletes a category, also from its models. @throws ProblemError not_found */
export async function deleteCategory({ db }: Services, slug: string): Promise<void> {
  const entry = auditEntry({ action: "category.deleted", ...ofCategory(slug) });
  if (!(await deleteRow(db, slug, entry))) throw notFound(`The category '${slug}'`);
}

const ofCategory = (slug: string) => ({
  account_id: null,
  targets: [{ type: "category", id: slug, name: slug }],
});
