import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./src/storage/schema.ts", "./src/storage/schema/sign-in.ts"],
  out: "./migrations",
  casing: "snake_case",
});
