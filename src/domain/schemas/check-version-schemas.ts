/** Checks whether a version's schemas can be used. */
import type { Schemas } from "../../protocol/model.ts";
import { checkSchema } from "./json-schema.ts";
import { faultOfSize } from "./schema-size.ts";
import { invalid, type Loc, ValidationFailure } from "./validation.ts";
import { versionSchema } from "./version-schemas.ts";

/** @throws ValidationFailure with places below `["body", "schemas"]` */
export function checkVersionSchemas(schemas: Schemas): void {
  const fault = faultOfSize(schemas);
  if (fault !== undefined) throw invalid(["body", "schemas"], fault);
  for (const side of ["input", "output"] as const) {
    const place: Loc = ["body", "schemas", "prediction", side];
    try {
      checkSchema(versionSchema(schemas, side), place);
    } catch (error) {
      throw schemas.components ? atRequestPath(error, place) : error;
    }
  }
}

/** Returns the fault of schemas that no request has sent; undefined: they can be used. */
export function faultOfSchemas(schemas: Schemas): string | undefined {
  try {
    checkVersionSchemas(schemas);
    return undefined;
  } catch (error) {
    if (error instanceof ValidationFailure) return error.message;
    throw error;
  }
}

/**
 * Moves an issue of a shared component to where the component was sent: components are validated as part of
 * each schema.
 */
function atRequestPath(error: unknown, place: Loc): unknown {
  if (!(error instanceof ValidationFailure)) return error;
  return new ValidationFailure(
    error.issues.map((issue) =>
      issue.loc[place.length] === "components"
        ? { ...issue, loc: ["body", "schemas", ...issue.loc.slice(place.length)] }
        : issue,
    ),
  );
}
