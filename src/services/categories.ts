/** Categories: everybody lists them, the operator decides which there are. */
import { notFound } from "../errors.ts";
import type { Category } from "../protocol/category.ts";
import {
  listCategories as categoriesOf,
  deleteCategory as deleteRow,
  saveCategory,
} from "../storage/categories.ts";
import { type Page, type PageRequest, page } from "./pages.ts";
import type { Services } from "./services.ts";

export const listCategories = (services: Services, request: PageRequest): Promise<Page<Category>> =>
  page(services, request, {
    name: "categories",
    find: (keyset) => categoriesOf(services.db, keyset),
    keyOf: ({ slug }) => [slug],
    present: services.present.category,
  });

/** Made, or changed when it is there. */
export async function putCategory(
  { db, present }: Services,
  slug: string,
  request: { name: string; description: string },
): Promise<Category> {
  const row = { slug, ...request, created_at: Date.now() };
  await saveCategory(db, row);
  return present.category(row);
}

/** Models lose it. @throws ProblemError not_found */
export async function deleteCategory({ db }: Services, slug: string): Promise<void> {
  if (!(await deleteRow(db, slug))) throw notFound(`The category '${slug}'`);
}
