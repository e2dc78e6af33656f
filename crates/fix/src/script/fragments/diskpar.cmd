rem What diskpar asks, and the answers, for who types them:
rem   Are you sure drive N is a raw device without any partition? (Y/N)  y
rem   All data on this drive will be lost. continue (Y/N)?  y
rem   Please specify starting offset (in sectors):  __start__
rem   Please specify partition length (in MB):  __megabytes__
> "%work%\answers.txt" echo y
>> "%work%\answers.txt" echo y
>> "%work%\answers.txt" echo __start__
>> "%work%\answers.txt" echo __megabytes__
set "why=diskpar -s said no"
diskpar -s %disk% < "%work%\answers.txt"
if errorlevel 1 goto failed
set "why=diskpar does not know it any more"
diskpar -i %disk% > "%work%\after.txt"
if errorlevel 1 goto failed
set "right=0"
