/** Empties D1 and the objects before each file, and creates all tables. */
import { emptyStorage } from "./empty.ts";

await emptyStorage();
