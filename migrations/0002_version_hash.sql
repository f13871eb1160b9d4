ALTER TABLE `versions` ADD `hash` text;--> statement-breakpoint
CREATE UNIQUE INDEX `versions_hash` ON `versions` (`hash`) WHERE hash IS NOT NULL;