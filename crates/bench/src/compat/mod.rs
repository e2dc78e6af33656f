//! Other tools' command lines and job files, read into workloads: SQLIO, diskspd, fio. What a tool knows and Straddle does
//! not is refused by name.
