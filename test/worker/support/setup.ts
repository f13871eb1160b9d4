/** Before each file: an empty D1 of its own, with all tables, and no objects. */
import { emptyStorage } from "./empty.ts";

await emptyStorage();
